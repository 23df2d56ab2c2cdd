"""Programs whose captured Python writes host state that other code reads, beside those where it does no harm."""

from __future__ import annotations

from typing import Any

from tests.sentinel.watching import codes


class Meter:
    """Counts what it did, in Python."""

    calls = 0

    def __init__(self) -> None:
        import torch

        self.width = 0
        self.given = torch.ones(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.body()

    def body(self) -> Any:
        self.calls += 1
        self.width = self.given.shape[0]
        return self.given * 2

    def report(self) -> int:
        return self.calls


def test_a_count_that_replays_do_not_move_is_read(tested: Any) -> None:
    meter = Meter()
    meter.graph.replay()
    assert tested.findings == []
    assert meter.report() == 1
    (found,) = tested.findings
    assert (found.code, found.check, found.confidence) == ("CG403", "effects", "likely")
    assert found.message.startswith("`Meter.calls` is read here as 1: the captured code would have made it 2")
    assert found.replayed[0].function.endswith("report")


def test_a_value_that_each_call_would_leave_as_it_is(tested: Any) -> None:
    meter = Meter()
    meter.graph.replay()
    assert meter.width == 4
    assert tested.findings == []


def test_a_count_that_the_program_moves_itself(tested: Any) -> None:
    meter = Meter()
    for count in (2, 3):
        meter.graph.replay()
        meter.calls = count
        assert meter.report() == count
    assert tested.findings == []


def test_a_count_that_only_the_captured_code_reads(tested: Any) -> None:
    meter = Meter()
    meter.graph.replay()
    meter.body()
    assert tested.findings == []


def test_a_count_is_read_before_any_replay(tested: Any) -> None:
    meter = Meter()
    assert meter.report() == 1
    assert tested.findings == []


def test_classes_are_what_they_were_afterwards() -> None:
    import pytest

    torch = pytest.importorskip("torch")
    from graphlint.sentinel import watch

    before = dict(vars(Meter))
    with watch("test", virtual=not torch.cuda.is_available()) as watching:
        meter = Meter()
        meter.graph.replay()
        assert meter.calls == 1 and codes(watching) == ["CG403"]
    assert dict(vars(Meter)) == before
    assert meter.calls == 1 and vars(meter)["calls"] == 1


def test_a_class_has_no_more_attributes_than_before(tested: Any) -> None:
    meter = Meter()
    meter.width = 0
    meter.graph.replay()
    assert not hasattr(Meter, "width")
    assert meter.width == 0
    assert [found.code for found in tested.findings] == ["CG403"]


def test_what_the_program_binds_to_a_class_meanwhile_stays() -> None:
    import pytest

    torch = pytest.importorskip("torch")
    from graphlint.sentinel import watch

    class Own(Meter):
        calls = 0

    with watch("test", virtual=not torch.cuda.is_available()):
        meter = Own()
        meter.graph.replay()
        Own.calls = 7
    assert Own.calls == 7
