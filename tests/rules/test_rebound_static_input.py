"""CG101: tensors that a graph reads are rebound instead of written."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

RUNNER = """\
import dataclasses

import torch


@dataclasses.dataclass
class Metadata:
    lengths: torch.Tensor
    slots: torch.Tensor


class Runner:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.tokens = torch.zeros(8, dtype=torch.long, device="cuda")
        self.meta = Metadata(torch.zeros(8, device="cuda"), torch.zeros(8, device="cuda"))
        self.buffers = {{"bias": torch.zeros(8, device="cuda")}}
        self.stages = [torch.zeros(8, device="cuda"), torch.zeros(8, device="cuda")]
        self.label = "decode"
        self.graph = None

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            hidden = self.net(self.tokens) + self.meta.lengths * self.meta.slots
            self.out = hidden + self.buffers["bias"] + self.stages[0]

    def step(self, tokens: torch.Tensor, lengths: torch.Tensor):
        {statement}  # {mark}
        self.graph.replay()
        return self.out.clone()
"""


@pytest.mark.parametrize(
    "statement",
    [
        "self.tokens = tokens.cuda()",
        "self.tokens = self.tokens + 1",
        "self.meta.lengths = lengths.to('cuda')",
        "self.meta = Metadata(lengths.cuda(), lengths.cuda())",
        "self.buffers['bias'] = lengths.cuda()",
        "self.stages[0] = lengths.cuda()",
        "self.meta = dataclasses.replace(self.meta, lengths=lengths.cuda())",
        "setattr(self, 'tokens', tokens.cuda())",
    ],
)
def test_reported(statement: str) -> None:
    check_marked_rules(RUNNER.format(statement=statement, mark="expect: CG101"))


@pytest.mark.parametrize(
    "statement",
    [
        "self.tokens.copy_(tokens)",
        "self.tokens[: tokens.shape[0]] = tokens",
        "self.tokens += 1",
        "self.meta.lengths.fill_(1.0)",
        "torch.add(self.meta.lengths, 1, out=self.meta.lengths)",
        "self.buffers['scale'] = lengths.cuda()",
        "self.label = 'prefill'",
        "self.last_tokens = tokens",
        "self.stages[1] = lengths.cuda()",
        "self.tokens = tokens.cuda(); self.capture()",
    ],
)
def test_fine(statement: str) -> None:
    check_marked_rules(RUNNER.format(statement=statement, mark="ok: CG101"))


def test_locals_of_the_function_that_captures_and_replays() -> None:
    check_marked_rules(
        """
        import torch

        def heat(initial: torch.Tensor, source: torch.Tensor, steps: int):
            u = initial.cuda()
            q = source.cuda()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                u.add_(q, alpha=0.1)
            for _ in range(steps):
                q = q * 0.5  # expect: CG101
                graph.replay()
            return u
        """
    )


def test_before_the_capture_names_may_move() -> None:
    check_marked_rules(
        """
        import torch

        def record(net: torch.nn.Module, sample: torch.Tensor):
            x = torch.zeros(4, device="cuda")
            x = sample.cuda()  # ok: CG101
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = net(x)
            graph.replay()
            x = None  # ok: CG101
            return y.clone()
        """
    )


ACROSS_FILES = {
    "batch.py": """\
        import torch


        class Batch:
            def __init__(self, size: int):
                self.lengths = torch.zeros(size, dtype=torch.int32, device="cuda")

            def refresh(self, lengths: list[int]):
                self.lengths = torch.tensor(lengths, dtype=torch.int32, device="cuda")  # expect: CG101
        """,
    "engine.py": """\
        import torch

        from batch import Batch


        class Engine:
            def __init__(self):
                self.batch = Batch(16)
                self.graph = torch.cuda.CUDAGraph()

            def capture(self):
                with torch.cuda.graph(self.graph):
                    self.mask = self.batch.lengths > 0

            def step(self, lengths: list[int]):
                self.batch.refresh(lengths)
                self.graph.replay()
                return self.mask.clone()
        """,
}


def test_across_files(shows: Shows) -> None:
    check_marked_rules(ACROSS_FILES)
    shows("CG101-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    statement = "self.tokens = tokens.cuda()  # graphlint: ignore[CG101] -- recaptured by the caller"
    check_marked_rules(RUNNER.format(statement=statement, mark="ok: CG101"))


CLEARED = """\
import torch


class Layer:
    def __init__(self):
        self.peak = None

    def run(self, x):
        self.peak = x.amax()
        return x * 2


class Session:
    def __init__(self):
        self.layer = Layer()
        self.x = torch.zeros(4, device="cuda")
        self.layer.run(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.layer.run(self.x)

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        if self.layer.peak is not None:
            print(self.layer.peak.item())
        {after}


def main(loader):
    session = Session()
    for x in loader:
        session.step(x)
"""


def test_a_field_that_replays_fill_is_cleared() -> None:
    check_marked_rules(CLEARED.format(after="self.layer.peak = None  # expect: CG101"))


def test_a_field_that_replays_fill_is_zeroed() -> None:
    check_marked_rules(CLEARED.format(after="self.layer.peak.zero_()  # ok: CG101"))
