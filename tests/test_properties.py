"""What holds for every program: it is analysed to an end, and what cannot matter does not change the findings.

The programs are small runners put together at random from statements that captured code is made of.
"""

from __future__ import annotations

import warnings
from textwrap import indent

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.programs import findings

SIMPLE = (
    "y = self.x * 2",
    "y = y + self.bias",
    "self.last = y",
    "self.bias = y.clone()",
    "self.bias.copy_(y)",
    "n = y.sum().item()",
    "n = self.count",
    "self.count += 1",
    "self.kept.append(y)",
    "y = self.table.get('scale', y)",
    "y = y[: self.count]",
    "y = torch.nonzero(y)",
    "y = helper(y, self.count)",
    "del n",
    "y, n = n, y",
    "print(y)",
)
HEADS = (
    "if n:",
    "if self.count > 3:",
    "if y is None:",
    "for n in range(self.count):",
    "for y in self.kept:",
    "while n:",
    "with torch.no_grad():",
    "with torch.cuda.stream(self.side):",
    "try:",
)
ENDS = {"try:": "except RuntimeError:\n    y = self.x\n"}

statements = st.recursive(
    st.sampled_from(SIMPLE).map("{}\n".format),
    lambda inner: st.builds(
        lambda head, body: f"{head}\n{indent(''.join(body), '    ')}{ENDS.get(head, '')}",
        st.sampled_from(HEADS),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=12,
)
bodies = st.lists(statements, min_size=1, max_size=6).map("".join)
runs = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def _program(body: str, step: str) -> str:
    return f"""import torch

def helper(value, n):
    return value * n

class Runner:
    def __init__(self, count):
        self.x = torch.zeros(8, device="cuda")
        self.bias = torch.zeros(8, device="cuda")
        self.count = count
        self.kept, self.table = [], {{}}
        self.side = torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()

    def body(self, y, n):
{indent(body, "        ")}
        return y

    def capture(self):
        self.body(self.x, 0)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self.body(self.x, 0)

    def step(self, y, n):
{indent(step, "        ")}
        self.graph.replay()
        return self.out
"""


def _found(program: str) -> list[tuple[str, str]]:
    """The codes of a program and the confidences, without places."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random programs hold what Python warns of
        return sorted((each.code, each.confidence.value) for each in findings(program))


@runs
@given(bodies, bodies)
def test_what_nobody_calls_changes_nothing(body: str, step: str) -> None:
    program = _program(body, step)
    unrelated = "\n\ndef unrelated(values):\n    return [value.item() for value in values]\n"
    assert _found(program) == _found(program + unrelated)


@runs
@given(bodies, bodies)
def test_a_block_that_is_always_entered_changes_nothing(body: str, step: str) -> None:
    wrapped = f"if True:\n{indent(body, '    ')}"
    assert _found(_program(body, step)) == _found(_program(wrapped, step))


@runs
@given(bodies, bodies)
def test_names_of_classes_change_nothing(body: str, step: str) -> None:
    program = _program(body, step)
    renamed = program.replace("Runner", "Engine").replace("helper", "scaled")
    assert _found(program) == _found(renamed)
