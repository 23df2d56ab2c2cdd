"""Calls after a marked step of the compiler: what is called by its own name replays, other calls do not."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """
    import torch

    class Frames:
        def __init__(self, net, coder):
            self.net, self.coder = net, coder
            self.kept = []

        def step(self, frame):
            torch.compiler.cudagraph_mark_step_begin()
            {work}
            self.kept.append(out)  # {mark}: CG201

        def read(self):
            return torch.stack(self.kept)
    """


@pytest.mark.parametrize(
    ("work", "mark"),
    [
        ("out = self.net(frame)", "expect"),
        ("out = self.coder.encode(frame)", "ok"),
        ("out = frame.cuda()", "ok"),
        ("out = self.net(frame.cuda()).clone()", "ok"),
        ("out = self.net(frame.cuda())", "expect"),
    ],
)
def test_what_a_marked_step_replays(work: str, mark: str) -> None:
    check_marked_rules(PROGRAM.format(work=work, mark=mark))
