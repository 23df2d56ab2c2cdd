"""Compiled code with CUDA graphs overwrites no output while a forward awaits its backward."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

PROGRAM = """\
import torch


def losses(x: torch.Tensor):
    net = torch.nn.Linear(16, 16).cuda(){frozen}
    step = torch.compile(net, mode="reduce-overhead")
    for _ in range(3):
        step(x){warm}
    {before}
    one = step(x)  # {mark}
    {between}
    two = step(x)
    return one - two
"""

WARM = ".sum().backward()"


@pytest.mark.parametrize(
    ("frozen", "warm", "before", "between", "mark"),
    [
        ("", WARM, "pass", "pass", "ok: CG201"),  # two forwards of one step
        ("", WARM, "pass", "one.sum().backward()", "expect: CG201"),
        ("", WARM, "pass", "torch.compiler.cudagraph_mark_step_begin()", "expect: CG201"),
        (".requires_grad_(False)", "", "pass", "pass", "expect: CG201"),
        ("", "", "torch.set_grad_enabled(True)", "pass", "ok: CG201"),
    ],
)
def test_outputs_stay_until_the_backward(
    frozen: str, warm: str, before: str, between: str, mark: str
) -> None:
    check_marked_rules(PROGRAM.format(frozen=frozen, warm=warm, before=before, between=between, mark=mark))
