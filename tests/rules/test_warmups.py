"""CG607, CG703 and CG704: how many graphs are captured, and what the warm-up leaves behind."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

TRAINER = """
import torch


def warm_up(model, x):
    for _ in range(3):
        loss = model(x).sum()
        loss.backward()


def record(model: torch.nn.Linear, data):
    x = torch.zeros(8, 16, device="cuda")
    side = torch.cuda.Stream()
{warm}
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
{captured}
    return graph, x
"""
BACKWARD = "out = model(x).sum()\nout.backward()  # {}: CG703"


def record(warm: str, captured: str = BACKWARD.format("expect")) -> None:
    check_marked_rules(TRAINER.format(warm=indent(warm, " " * 4), captured=indent(captured, " " * 8)))


@pytest.mark.parametrize(
    "warm",
    [
        "loss = model(x).sum()\nloss.backward()",
        "for _ in range(3):\n    loss = model(x).mean()\n    loss.backward()",
        "loss = torch.nn.functional.mse_loss(model(x), x)\nloss.backward()\ntorch.cuda.synchronize()",
        "first = model(x).sum()\ntorch.autograd.backward(first)",
        "with torch.cuda.stream(side):\n    model(x)\nloss = model(x).sum()\nloss.backward()",
        "losses = [model(x).sum()]\nlosses[0].backward()",
    ],
)
def test_a_backward_pass_that_is_held(warm: str) -> None:
    record(warm)


@pytest.mark.parametrize(
    ("warm", "captured"),
    [
        (
            "side.wait_stream(torch.cuda.current_stream())\nwith torch.cuda.stream(side):\n"
            "    loss = model(x).sum()\n    loss.backward()\ntorch.cuda.current_stream().wait_stream(side)",
            BACKWARD.format("ok"),
        ),
        ("warm_up(model, x)", BACKWARD.format("ok")),
        ("loss = model(x).sum()\nloss.backward()\ndel loss", BACKWARD.format("ok")),
        ("loss = model(x).sum()\nloss.backward()\nloss = None", BACKWARD.format("ok")),
        ("loss = model(x).sum()\nloss.backward()", "y = model(x)  # ok: CG703"),
        ("with torch.no_grad():\n    loss = model(x).sum()", BACKWARD.format("ok")),
    ],
)
def test_a_backward_pass_that_is_gone(warm: str, captured: str) -> None:
    record(warm, captured)


SIMULATION = """
import torch


class World:
    def __init__(self, n):
        self.pos = torch.zeros(n, 3, device="cuda")
        self.vel = torch.zeros(n, 3, device="cuda")
        self.ticks = torch.zeros((), device="cuda")
        self.graph = None

    def physics(self):
{physics}

    def capture(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
{warm}
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.physics()
{after}

    def step(self, force):
        self.vel.copy_(force)
        {guard}
        self.graph.replay()
        return self.pos.clone()
"""
LAZILY = "if self.graph is None: self.capture()"


def simulate(physics: str, warm: str, after: str = "pass", guard: str = LAZILY) -> None:
    check_marked_rules(
        SIMULATION.format(
            physics=indent(physics, " " * 8),
            warm=indent(warm, " " * 12),
            after=indent(after, " " * 8),
            guard=guard,
        )
    )


@pytest.mark.parametrize(
    ("physics", "warm"),
    [
        ("self.pos.add_(self.vel, alpha=0.1)", "for _ in range(3):\n    self.physics()  # expect: CG704"),
        ("self.pos += self.vel * 0.1", "self.physics()  # expect: CG704"),
        ("self.ticks.add_(1)\nself.pos.copy_(self.vel * self.ticks)", "self.physics()  # expect: CG704"),
        ("self.pos.mul_(0.9)", "self.physics()  # expect: CG704\nself.vel.zero_()"),
        ("self.pos.lerp_(self.vel, 0.5)", "[self.physics() for _ in range(2)]  # expect: CG704"),
        (
            "index = torch.arange(3, device='cuda')\nself.pos.index_add_(1, index, self.vel)",
            "self.physics()  # expect: CG704",
        ),
    ],
)
def test_live_state_moves_on(physics: str, warm: str) -> None:
    simulate(physics, warm)


@pytest.mark.parametrize(
    ("physics", "warm", "after", "guard"),
    [
        ("self.pos.copy_(self.vel * 2)", "self.physics()  # ok: CG704", "pass", LAZILY),
        ("self.pos.zero_()\nself.pos.add_(self.vel)", "self.physics()  # ok: CG704", "pass", LAZILY),
        (
            "self.pos.add_(self.vel)",
            "saved = self.pos.clone()\nself.physics()  # ok: CG704\nself.pos.copy_(saved)",
            "pass",
            LAZILY,
        ),
        ("self.pos.add_(self.vel)", "self.physics()  # ok: CG704", "self.pos.zero_()", LAZILY),
        ("self.pos.add_(self.vel)", "torch.relu(self.pos)  # ok: CG704", "pass", LAZILY),
        ("self.pos.add_(self.vel)", "self.physics()  # ok: CG704", "pass", "pass"),
        ("x = self.pos * 1\nx.add_(self.vel)", "self.physics()  # ok: CG704", "pass", LAZILY),
    ],
)
def test_state_that_stays(physics: str, warm: str, after: str, guard: str) -> None:
    simulate(physics, warm, after, guard)


BUCKETS = """
import torch


def capture(net: torch.nn.Linear, pool, config, adapters):
    graphs = {{}}
    net(torch.zeros(8, 8, device="cuda"))
{loops}
"""
CAPTURE = """\
x = torch.zeros(8, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, pool=pool):  # {}: CG607
    y = net(x)
graphs[size] = graph, x, y
"""


def buckets(loops: list[str], word: str) -> None:
    lines = ["    " * (depth + 1) + line for depth, line in enumerate(loops)]
    body = indent(CAPTURE.format(word), "    " * (len(loops) + 1))
    check_marked_rules(BUCKETS.format(loops="\n".join([*lines, body])))


@pytest.mark.parametrize(
    "loops",
    [
        ["for size in range(1000):"],
        ["for size in reversed(range(1, 1025)):"],
        ["for size in range(1, 129):", "for lora in (0, 1, 2, 4, 8):"],
        ["for size in range(64):", "for piece in range(32):"],
        ["for lora in range(4):", "for size in range(256, 0, -1):"],
        ["for size in range(20):", "for a in range(20):", "for b in range(2):"],
    ],
)
def test_too_many(loops: list[str]) -> None:
    buckets(loops, "expect")


@pytest.mark.parametrize(
    "loops",
    [
        ["for size in range(512):"],
        ["for size in [256, 128, 64, 32]:", "for lora in range(2):"],
        ["for size in config.sizes:", "for lora in range(600):"],
        ["for size in range(config.most):"],
        ["for size in range(0, 512, 8):", "for lora in adapters:"],
        ["for size in (1, 2, 4):"],
    ],
)
def test_not_too_many(loops: list[str]) -> None:
    buckets(loops, "ok")


def test_across_files() -> None:
    check_marked_rules(
        {
            "world.py": """
            import torch


            class Counter:
                def __init__(self):
                    self.total = torch.zeros(4, device="cuda")

                def tick(self, x):
                    self.total.add_(x)
            """,
            "graphs.py": """
            import torch
            from world import Counter


            class Graphed:
                def __init__(self):
                    self.counter, self.graph = Counter(), None
                    self.x = torch.zeros(4, device="cuda")

                def __call__(self, x):
                    self.x.copy_(x)
                    if self.graph is None:
                        self.counter.tick(self.x)  # expect: CG704
                        self.graph = torch.cuda.CUDAGraph()
                        with torch.cuda.graph(self.graph):
                            self.counter.tick(self.x)
                    self.graph.replay()
            """,
        }
    )


def test_suppressed() -> None:
    record(
        "loss = model(x).sum()\nloss.backward()",
        "out = model(x).sum()\nout.backward()  # graphlint: ignore[CG703] -- torch 2.14 with the override",
    )
    simulate(
        "self.pos.add_(self.vel)", "self.physics()  # graphlint: ignore[CG704] -- a settling time is wanted"
    )


def test_the_text(shows: Shows) -> None:
    body = indent(BACKWARD.partition("  #")[0], " " * 8)
    shows(
        "CG703-held",
        {"a.py": TRAINER.format(warm="    loss = model(x).sum()\n    loss.backward()", captured=body)},
    )
    text = SIMULATION.format(
        physics=" " * 8 + "self.pos.add_(self.vel)", warm=" " * 12 + "self.physics()", after="", guard=LAZILY
    )
    shows("CG704-live", {"a.py": text})
    loops = "    for size in range(1000):\n" + indent(CAPTURE.format("n"), " " * 8)
    shows("CG607-range", {"a.py": BUCKETS.format(loops=loops)})
