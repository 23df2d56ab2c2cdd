"""Programs whose graphs are reset or collected while somebody still uses their outputs."""

from __future__ import annotations

import gc
from typing import Any

from tests.sentinel.capturing import capture
from tests.sentinel.watching import codes


class Server:
    """Doubles what it is given; can be captured anew, as for another shape."""

    def __init__(self) -> None:
        import torch

        self.given = torch.ones(4, device="cuda")
        self.record()

    def record(self) -> None:
        self.graph, self.out = capture(lambda: self.given * 2)

    def step(self, value: float) -> None:
        self.given.fill_(value)
        self.graph.replay()


def total(held: Any) -> float:
    return float(held.sum().item())


def test_outputs_that_outlive_their_graph_keep_the_last_result(tested: Any) -> None:
    server = Server()
    out = server.out
    server.step(3.0)
    server.graph.reset()
    gc.collect()
    assert total(out) == 24.0 and total(out) == 24.0
    assert tested.findings == []


def test_a_reader_goes_on_looking_where_the_old_graph_has_left_its_last_result(tested: Any) -> None:
    server = Server()
    shown = server.out[:2]
    for value in (1.0, 2.0):
        server.step(value)
        total(shown)
    server.graph.reset()
    server.record()
    server.step(3.0)
    assert total(shown) == 8.0
    (found,) = tested.findings
    assert (found.code, found.check, found.confidence) == ("CG201", "abandoned-outputs", "likely")
    assert found.replayed[0].function == "total"


def test_the_same_when_the_old_graph_is_collected(tested: Any) -> None:
    server = Server()
    shown = server.out
    for value in (1.0, 2.0):
        server.step(value)
        total(shown)
    server.record()
    server.step(3.0)
    total(shown)
    assert codes(tested) == ["CG201"]


def test_a_reader_takes_the_output_of_the_new_graph(tested: Any) -> None:
    server = Server()
    for _ in range(3):
        for value in (1.0, 2.0):
            server.step(value)
            assert total(server.out) == 8.0 * value
        server.record()
    assert tested.findings == []


def test_the_last_result_of_the_old_graph_is_compared_with_the_first_of_the_new(tested: Any) -> None:
    server = Server()
    before = server.out
    for value in (1.0, 2.0):
        server.step(value)
        total(server.out)
    server.record()
    server.step(2.0)
    assert (before - server.out).abs().max().item() == 0.0
    assert tested.findings == []


def test_the_new_graph_has_another_place_of_replay(tested: Any) -> None:
    """Another graph of the same helper is not in the place of the old one."""
    import torch

    server = Server()
    out = server.out
    for value in (1.0, 2.0):
        server.step(value)
        total(out)
    server.graph.reset()
    other, _ = capture(lambda: torch.ones(4, device="cuda") * 3)
    other.replay()
    total(out)
    assert tested.findings == []


def test_old_output_is_filled_from_the_new_graph_by_hand(tested: Any) -> None:
    server = Server()
    shown = server.out
    for value in (1.0, 2.0):
        server.step(value)
        total(shown)
    server.record()
    server.step(3.0)
    shown.copy_(server.out)
    assert total(shown) == 24.0 and tested.findings == []


def second(server: Server, pool: Any = None) -> Any:
    """A graph that takes the output of the server's as its input."""
    out = server.out
    return capture(lambda: out + 1, pool=pool)


def test_a_graph_reads_the_output_of_one_that_was_captured_anew(tested: Any) -> None:
    server = Server()
    other, _ = second(server)
    for value in (1.0, 2.0):
        server.step(value)
        other.replay()
    kept = server.out
    server.record()
    server.step(3.0)
    other.replay()
    assert codes(tested) == ["CG101"] and kept.tolist() == [4.0] * 4
    assert "`server.out` is bound to another tensor" in tested.findings[0].message


def test_a_graph_prepares_what_another_reads_and_is_dropped(tested: Any) -> None:
    server = Server()
    kept = server.out
    other, made = second(server)
    server.step(2.0)
    del server.graph
    for _ in range(3):
        other.replay()
    assert made.tolist() == [5.0] * 4 and tested.findings == [] and kept is server.out


def test_nothing_holds_the_output_and_its_graph_is_gone(watched: Any) -> None:
    server = Server()
    other, _ = second(server, pool=server.graph.pool())
    server.step(1.0)
    other.replay()
    del server
    gc.collect()
    other.replay()
    (found,) = watched.findings
    assert found.code == "CG103" and "which filled" in found.message


def test_nothing_holds_the_output_and_its_graph_fills_it(watched: Any) -> None:
    server = Server()
    other, made = second(server, pool=server.graph.pool())
    server.out = None
    for value in (1.0, 2.0):
        server.step(value)
        other.replay()
    assert made.tolist() == [5.0] * 4 and watched.findings == []


def test_a_graph_of_the_pool_overwrites_the_output_of_one_that_is_gone(tested: Any) -> None:
    import torch

    given = torch.ones(4, device="cuda")
    first, _ = capture(lambda: (given + 1) + 1)
    other, two = capture(lambda: given * 4, pool=first.pool())
    other.replay()
    other.reset()
    first.replay()
    assert two.tolist() != [4.0] * 4
    assert codes(tested) == ["CG604"]


def test_an_old_result_of_a_graph_that_is_gone_is_as_old(tested: Any) -> None:
    server = Server()
    server.step(1.0)
    old = server.out[:2]
    server.step(2.0)
    server.graph.reset()
    old.tolist()
    assert codes(tested) == ["CG201"]
