"""Programs that collect outputs without a copy, beside those that hold one or two, in mode "watch"."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import pytest

from tests.sentinel.capturing import capture

_SEVERAL_NAMES = """
result = run(1.0)
also = result
for value in range(5):
    result = run(float(value))
    best = result if value % 2 else None
"""


class Runner:
    """Doubles what it is given and returns its static output itself."""

    def __init__(self) -> None:
        import torch

        self.given = torch.ones(4, device="cuda")
        self.graph, self.out = capture(lambda: self.given * 2)

    def __call__(self, value: float) -> Any:
        self.given.fill_(value)
        self.graph.replay()
        return self.out


def found(watching: Any) -> list[tuple[str, str]]:
    return [(finding.code, finding.check) for finding in watching.findings]


def test_the_same_tensor_is_collected_again_and_again(watched: Any) -> None:
    runner = Runner()
    kept = [runner(float(value)) for value in range(5)]
    assert found(watched) == [("CG201", "kept-outputs")]
    (finding,) = watched.findings
    assert (finding.level, finding.confidence) == ("warning", "likely")
    assert finding.replayed[0].function.endswith("Runner.__call__")
    assert len(kept) == 5


def test_views_are_collected(watched: Any) -> None:
    runner = Runner()
    kept = {value: runner(float(value))[:2] for value in range(5)}
    assert found(watched) == [("CG201", "kept-outputs")]
    assert len(kept) == 5


def test_what_is_kept_after_the_last_replay_counts() -> None:
    """Three results are enough, also where the program ends with the third."""
    torch = pytest.importorskip("torch")
    from graphlint.sentinel import watch

    kept = []
    with watch(virtual=not torch.cuda.is_available()) as watching:
        runner = Runner()
        for value in range(3):
            kept.append(runner(float(value)))
    assert found(watching) == [("CG201", "kept-outputs")]
    assert watching.findings[0].replayed[0].function.endswith("Runner.__call__")


def test_copies_are_collected(watched: Any) -> None:
    runner = Runner()
    kept = [runner(float(value)).clone() for value in range(5)]
    assert watched.findings == [] and len(kept) == 5


def test_the_last_result_is_held_until_the_next(watched: Any) -> None:
    runner = Runner()
    for value in range(6):
        result = runner(float(value))
        assert result.tolist() == [2.0 * value] * 4
    assert watched.findings == []


def test_the_last_two_results_are_held(watched: Any) -> None:
    runner = Runner()
    last: deque[Any] = deque(maxlen=2)
    for value in range(6):
        last.append(runner(float(value)))
    assert watched.findings == []


def test_holders_that_come_once_in_a_while_are_no_row(watched: Any) -> None:
    runner = Runner()
    shown = []
    for value in range(9):
        result = runner(float(value))
        if value % 3 == 0:
            shown.append(result[0])
    assert watched.findings == []


def test_a_module_has_several_names_for_one_result(watched: Any) -> None:
    names: dict[str, Any] = {"run": Runner()}
    exec(_SEVERAL_NAMES, names)
    assert watched.findings == [] and names["also"] is names["result"]


def test_an_object_has_several_names_for_one_result(watched: Any) -> None:
    runner: Any = Runner()
    names = vars(runner)
    for value in range(5):
        runner.last = runner(float(value))
        runner.best = runner.last if value % 2 else None
    assert watched.findings == [] and names["last"] is names["out"]


def test_a_dict_of_results(watched: Any) -> None:
    runner = Runner()
    kept = {"first": runner(0.0), "second": runner(1.0), "third": runner(2.0)}
    runner(3.0)
    assert found(watched) == [("CG201", "kept-outputs")] and kept


@dataclass
class Result:
    logits: Any
    hidden: Any


class Several:
    """Returns its outputs together, in one object that lives as long as the graph."""

    def __init__(self, pack: Any) -> None:
        import torch

        self.given = torch.ones(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = pack(self.given * 2, self.given + 1)

    def __call__(self, value: float) -> Any:
        self.given.fill_(value)
        self.graph.replay()
        return self.out


def pair(*tensors: Any) -> Any:
    return tensors


def named(*tensors: Any) -> Any:
    return dict(zip(("logits", "hidden"), tensors))


@pytest.mark.parametrize("pack", [pair, named, Result])
def test_the_same_container_of_outputs_is_collected(watched: Any, pack: Any) -> None:
    runner = Several(pack)
    history = []
    for value in range(5):
        history.append(runner(float(value)))
    assert set(found(watched)) == {("CG201", "kept-outputs")} and len(history) == 5


@pytest.mark.parametrize("pack", [pair, named, Result])
def test_the_last_container_is_held(watched: Any, pack: Any) -> None:
    runner = Several(pack)
    before = None
    for value in range(6):
        result = runner(float(value))
        before = result
    assert watched.findings == [] and before is runner.out


def test_what_a_container_holds_is_copied(watched: Any) -> None:
    runner = Several(pair)
    history = [[one.clone() for one in runner(float(value))] for value in range(5)]
    assert watched.findings == [] and len(history) == 5


def collected(pick: Any) -> Any:
    """What is found of a list of results that begins only with the tuple which a function has returned."""
    torch = pytest.importorskip("torch")
    from graphlint.sentinel import watch

    history = []
    with watch(virtual=not torch.cuda.is_available()) as watching:
        given = torch.ones(4, device="cuda")
        graph, outputs = capture(lambda: (given * 2, given + 1))
        for value in range(4):
            given.fill_(value)
            graph.replay()
            history.append(pick(outputs))
    assert len(history) == 4
    return watching


def test_a_tuple_without_a_lasting_name_is_collected() -> None:
    assert set(found(collected(lambda outputs: outputs))) == {("CG201", "kept-outputs")}


def test_copies_of_such_a_tuple_are_collected() -> None:
    assert collected(lambda outputs: [one.clone() for one in outputs]).findings == []


def test_one_tuple_serves_several_sizes() -> None:
    torch = pytest.importorskip("torch")
    from graphlint.sentinel import watch

    with watch(virtual=not torch.cuda.is_available()) as watching:
        given = torch.ones(4, device="cuda")
        graph, outputs = capture(lambda: (given * 2, given + 1))
        by_size = dict.fromkeys(range(5, 9), outputs)
        for _ in range(9):
            graph.replay()
    assert watching.findings == [] and len(by_size) == 4
