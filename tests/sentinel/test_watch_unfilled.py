"""Memory that a graph allocates and fills, read before the graph was replayed."""

from __future__ import annotations

from typing import Any

from tests.sentinel.capturing import capture
from tests.sentinel.watching import codes, messages


class Table:
    """Makes its values when somebody asks for them first."""

    def __init__(self) -> None:
        self.values: Any = None

    def scaled(self, given: Any) -> Any:
        import torch

        if self.values is None:
            self.values = torch.ones(4, device="cuda") * 7
        return given * self.values


def given() -> Any:
    import torch

    return torch.ones(4, device="cuda")


def test_eager_code_uses_a_table_that_a_capture_has_made(tested: Any) -> None:
    table, x = Table(), given()
    graph, _ = capture(lambda: table.scaled(x))
    table.scaled(x)
    assert codes(tested) == ["CG603"]
    assert "eager code reads memory that graph" in messages(tested)
    graph.replay()
    assert table.scaled(x).tolist() == [7.0] * 4 and codes(tested) == ["CG603"]


def test_another_graph_uses_it(tested: Any) -> None:
    table, x = Table(), given()
    first, _ = capture(lambda: table.scaled(x))
    second, _ = capture(lambda: table.scaled(x), pool=first.pool())
    x.fill_(2.0)
    second.replay()
    assert codes(tested) == ["CG603"] and "reads memory that graph" in messages(tested)


def test_the_table_was_made_before(tested: Any) -> None:
    table, x = Table(), given()
    table.scaled(x)
    graph, out = capture(lambda: table.scaled(x))
    x.fill_(2.0)
    graph.replay()
    assert out.tolist() == [14.0] * 4 and tested.findings == []


def test_the_graphs_are_replayed_one_after_the_other(tested: Any) -> None:
    x = given()
    first, middle = capture(lambda: x + 1)
    second, out = capture(lambda: middle * 2, pool=first.pool())
    x.fill_(2.0)
    first.replay()
    second.replay()
    assert out.tolist() == [6.0] * 4 and tested.findings == []


def test_eager_code_fills_it(tested: Any) -> None:
    table, x = Table(), given()
    capture(lambda: table.scaled(x))
    table.values.fill_(7.0)
    assert table.scaled(x).tolist() == [7.0] * 4 and tested.findings == []


def test_mode_watch_does_not_know_who_fills_it(watched: Any) -> None:
    x = given()
    first, middle = capture(lambda: x + 1)
    second, _ = capture(lambda: middle * 2, pool=first.pool())
    middle.zero_()
    second.replay()
    assert watched.findings == []
