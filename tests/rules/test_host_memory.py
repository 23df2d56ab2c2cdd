"""CG107 and CG204: host memory that the device reads and writes in its own time."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

SAMPLER = """
import torch


class Sampler:
    def __init__(self, net: torch.nn.Linear):
        self.net = net
        self.x = torch.zeros(1, 16, device="cuda")
        self.next_token = torch.zeros(1, dtype=torch.long, pin_memory=True)
        self.scores = torch.zeros(1, 16, pin_memory=True)
        self.done = torch.cuda.Event()
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.logits = self.net(self.x)
            self.next_token.copy_(self.logits.argmax(-1), non_blocking=True)

    def step(self, embedding):
        self.x.copy_(embedding)
        stream = torch.cuda.current_stream()
        self.graph.replay()
{body}
"""


def read(body: str) -> None:
    check_marked_rules(SAMPLER.format(body=indent(body.strip("\n"), " " * 8)))


@pytest.mark.parametrize(
    "body",
    [
        "return self.next_token.item()  # expect: CG204",
        "return self.next_token.tolist()  # expect: CG204",
        "return int(self.next_token[0])  # expect: CG204",
        "if self.next_token[0] == 2:  # expect: CG204\n    return None",
        "print(self.next_token)  # expect: CG204",
        "return self.next_token.clone()  # expect: CG204",
        "return self.next_token.numpy()  # expect: CG204",
        "self.scores.copy_(self.logits, non_blocking=True)\nreturn self.scores.sum().item()  # expect: CG204",
        "scores = self.logits.to('cpu', non_blocking=True)\nreturn scores.tolist()  # expect: CG204",
        "self.done.record()\nreturn self.next_token.item()  # expect: CG204",
    ],
)
def test_read_too_early(body: str) -> None:
    read(body)


@pytest.mark.parametrize(
    "body",
    [
        "torch.cuda.synchronize()\nreturn self.next_token.item()  # ok: CG204",
        "stream.synchronize()\nreturn self.next_token.tolist()  # ok: CG204",
        "self.done.record()\nself.done.synchronize()\nreturn int(self.next_token[0])  # ok: CG204",
        "best = self.logits.max().item()\nreturn self.next_token.item()  # ok: CG204",
        "self.scores.copy_(self.logits)\nreturn self.scores.sum().item()  # ok: CG204",
        "scores = self.logits.to('cpu')\nreturn scores.tolist(), self.next_token.item()  # ok: CG204",
        "return self.next_token  # ok: CG204",
        "return self.next_token.shape[0]  # ok: CG204",
        "self.done.record()\nwhile not self.done.query():\n    pass\nreturn self.next_token.item()  # ok: CG204",
        "return self.next_token.to('cuda', non_blocking=True)  # ok: CG204",
        "self.finish()\nreturn self.next_token.item()  # ok: CG204",
    ],
)
def test_read_in_time(body: str) -> None:
    read(body)


STAGED = """
import torch


def run(net: torch.nn.Linear, batches, count):
    x = torch.zeros(8, 16, device="cuda")
    results = torch.zeros(64, 8, 16, device="cuda")
    stage = torch.zeros(8, 16, pin_memory=True)
    ring = [torch.zeros(8, 16, pin_memory=True), torch.zeros(8, 16, pin_memory=True)]
    rows = torch.zeros(4, 8, 16, pin_memory=True)
    copied = torch.cuda.Event()
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
{captured}
        y = net(x)
    for index, batch in enumerate(batches):
{body}
        results[index].copy_(y)
    return results
"""
RECORDED = "x.copy_(stage, non_blocking=True)"


def write(body: str, captured: str = RECORDED) -> None:
    text = indent(body.strip("\n"), " " * 8)
    check_marked_rules(STAGED.format(body=text, captured=indent(captured, " " * 8)))


@pytest.mark.parametrize(
    ("body", "captured"),
    [
        ("stage.copy_(torch.full((8, 16), 2.0))  # expect: CG107\ngraph.replay()", RECORDED),
        ("stage.fill_(index)  # expect: CG107\ngraph.replay()", RECORDED),
        ("stage[:4] = batch  # expect: CG107\ngraph.replay()", RECORDED),
        ("stage.zero_()  # expect: CG107\nx.copy_(stage, non_blocking=True)\ngraph.replay()", "pass"),
        ("stage[0] = index  # expect: CG107\ngraph.replay()\ncopied.record()", RECORDED),
        ("graph.replay()\nstage.copy_(batch)  # expect: CG107", RECORDED),
        ("graph.replay()", f"{RECORDED}\nz = x * 2\nstage.fill_(1)  # expect: CG107\n{RECORDED}"),
        ("graph.replay()", f"{RECORDED}\nstage.zero_()  # expect: CG107"),
    ],
)
def test_rewritten_too_early(body: str, captured: str) -> None:
    write(body, captured)


@pytest.mark.parametrize(
    ("body", "captured"),
    [
        ("copied.synchronize()\nstage.copy_(batch)  # ok: CG107\ngraph.replay()\ncopied.record()", RECORDED),
        ("stage.copy_(batch)  # ok: CG107\ngraph.replay()\ntorch.cuda.synchronize()", RECORDED),
        ("stage.fill_(index)  # ok: CG107\ngraph.replay()\nprint(y.sum().item())", RECORDED),
        ("stage.copy_(batch)  # ok: CG107\nx.copy_(stage)\ngraph.replay()", "pass"),
        (
            "s = ring[index % 2]\ns.copy_(batch)  # ok: CG107\nx.copy_(s, non_blocking=True)\ngraph.replay()",
            "pass",
        ),
        (
            "s = rows[index % 4]\ns.fill_(1)  # ok: CG107\nx.copy_(s, non_blocking=True)\ngraph.replay()",
            "pass",
        ),
        ("stage = torch.zeros(8, 16).pin_memory()  # ok: CG107\nx.copy_(stage)\ngraph.replay()", "pass"),
        ("x.copy_(batch)  # ok: CG107\ngraph.replay()", f"stage.fill_(3)\n{RECORDED}"),
        ("stage.copy_(y, non_blocking=True)  # ok: CG107\ngraph.replay()", "pass"),
    ],
)
def test_rewritten_in_time(body: str, captured: str) -> None:
    write(body, captured)


def test_a_method_that_callers_may_wait_for() -> None:
    check_marked_rules("""
import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, device="cuda")
        self.stage = torch.zeros(8, pin_memory=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.x.copy_(self.stage, non_blocking=True)
            self.y = self.x * 2

    def step(self, values):
        self.stage.copy_(values)  # ok: CG107
        self.graph.replay()
        return self.y.clone()
""")


def test_across_files() -> None:
    check_marked_rules(
        {
            "buffers.py": """
            import torch


            class Staging:
                def __init__(self, n):
                    self.host = torch.zeros(n, pin_memory=True)
                    self.token = torch.zeros(1, pin_memory=True)

                def load(self, values):
                    self.host.copy_(values)  # expect: CG107

                def first(self):
                    return self.token.item()  # expect: CG204
            """,
            "loop.py": """
            import torch
            from buffers import Staging


            def main(batches):
                staging = Staging(16)
                x = torch.zeros(16, device="cuda")
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    x.copy_(staging.host, non_blocking=True)
                    staging.token.copy_(x.argmax(), non_blocking=True)
                for batch in batches:
                    staging.load(batch)
                    graph.replay()
                    yield staging.first()
            """,
        }
    )


def test_suppressed() -> None:
    write(
        "stage.copy_(batch)  # graphlint: ignore[CG107] -- the same values in every step\ngraph.replay()  # ok: CG107"
    )
    read(
        "return self.next_token.item()  # graphlint: ignore[CG204] -- a late token is fine here\nreturn 0  # ok: CG204"
    )


def test_the_text(shows: Shows) -> None:
    program = """
    import torch

    x = torch.zeros(8, device="cuda")
    stage, answer = torch.zeros(8).pin_memory(), torch.zeros(8).pin_memory()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.copy_(stage, non_blocking=True)
        answer.copy_(x * 2, non_blocking=True)
    for step in range(4):
        stage.fill_(step)
        graph.replay()
        if step == 3:
            print(answer.tolist())
    """
    shows("CG107-pinned", {"program.py": program})
    shows("CG204-pinned", {"program.py": program})
