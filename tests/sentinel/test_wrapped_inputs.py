"""Runners of which the author has said what is written before every call, what is padding, what is their twin."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sentinel.capturing import capture
from tests.sentinel.watching import codes, messages


class Runner:
    """Adds two static inputs of eight rows; a call may leave one of them as it is."""

    def __init__(self) -> None:
        import torch

        self.ids = torch.zeros(8, 2, dtype=torch.long, device="cuda")
        self.bias = torch.zeros(8, 2, device="cuda")
        self.graph, self.out = capture(self.body)

    def body(self) -> Any:
        return self.ids + self.bias

    def __call__(self, ids: Any, bias: Any = None) -> Any:
        self.ids[: len(ids)].copy_(ids)
        if bias is not None:
            self.bias.copy_(bias)
        self.graph.replay()
        return self.out[: len(ids)].clone()

    def inputs(self) -> dict[str, Any]:
        return {"ids": self.ids, "bias": self.bias}


def wrapped(runner: Any, **declared: Any) -> Any:
    from graphlint.sentinel import wrap

    return wrap(runner, **declared)


def ones(rows: int, kind: str = "float32") -> Any:
    import torch

    return torch.ones(rows, 2, dtype=getattr(torch, kind), device="cuda")


def test_every_input_is_written(canary: Any) -> None:
    runner = Runner()
    call = wrapped(runner, inputs=runner.inputs)
    for _ in range(3):
        assert call(ones(8, "int64"), ones(8)).tolist() == [[2.0, 2.0]] * 8
    assert canary.findings == []


def test_an_input_is_not_written(canary: Any) -> None:
    runner = Runner()
    call = wrapped(runner, inputs=runner.inputs)
    assert (
        call(ones(8, "int64"), ones(8)).tolist() == [[2.0, 2.0]] * 8
    )  # a call that comes at once is not looked at
    result = call(ones(8, "int64"))
    assert result.tolist() == [[2.0, 2.0]] * 8  # what it would have been without the sentinel
    (found,) = canary.findings
    assert (found.code, found.check, found.confidence) == ("CG109", "canary", "definite")
    assert found.message.startswith(
        "`bias`, declared an input of `Runner`, is not written before this replay"
    )
    assert found.replayed[0].function.endswith("test_an_input_is_not_written")


def test_some_rows_of_an_input_are_not_written(canary: Any) -> None:
    runner = Runner()
    call = wrapped(runner, inputs=runner.inputs)
    call(ones(5, "int64"), ones(8))
    assert "rows 5 to 7 of `ids`" in messages(canary)
    assert runner.ids.tolist() == [[1, 1]] * 5 + [[0, 0]] * 3


def test_only_real_rows_have_to_be_written(canary: Any) -> None:
    runner = Runner()
    call = wrapped(runner, inputs=runner.inputs, padding=lambda ids, bias: len(ids))
    call(ones(5, "int64"), ones(8))
    assert canary.findings == []


def test_nothing_is_left_when_the_runner_raises(canary: Any) -> None:
    runner = Runner()
    call = wrapped(runner, inputs=runner.inputs)
    with pytest.raises(RuntimeError):
        call(ones(8, "int64"), ones(3))
    assert runner.bias.tolist() == [[0.0, 0.0]] * 8
    call(ones(8, "int64"), ones(8))
    assert runner.bias.tolist() == [[1.0, 1.0]] * 8
    assert codes(canary) == []


def test_mode_watch_does_not_touch_inputs(watched: Any) -> None:
    runner = Runner()
    call = wrapped(runner, inputs=runner.inputs)
    call(ones(5, "int64"))
    assert watched.findings == []


def test_small_types_are_judged_by_their_write_count(canary: Any) -> None:
    import torch

    mask, given = torch.ones(4, dtype=torch.bool, device="cuda"), torch.ones(4, device="cuda")
    graph, out = capture(lambda: given * mask)

    def run(now: Any) -> Any:
        if now is not None:
            mask.copy_(now)
        graph.replay()
        return out.clone()

    call = wrapped(run, inputs={"mask": mask})
    call(torch.ones(4, dtype=torch.bool, device="cuda"))
    assert canary.findings == []
    call(None)
    assert codes(canary) == ["CG109"] and "`mask`" in messages(canary)


class Mean:
    """A mean over rows, of which the last ones are padding; `masked` says whether it knows that."""

    def __init__(self, masked: bool) -> None:
        import torch

        self.rows = torch.zeros(8, 2, device="cuda")
        self.real = torch.zeros(8, 1, device="cuda")
        self.masked = masked
        self.graph, self.out = capture(self.body)

    def body(self) -> Any:
        rows = self.rows * self.real if self.masked else self.rows
        return self.rows - rows.sum(0)

    def __call__(self, rows: Any) -> Any:
        self.rows[: len(rows)].copy_(rows)
        self.real.zero_()
        self.real[: len(rows)].fill_(1.0)
        self.graph.replay()
        return self.out[: len(rows)]


@pytest.mark.parametrize("masked", [True, False])
def test_padding_must_not_matter(canary: Any, masked: bool) -> None:
    runner = Mean(masked)
    call = wrapped(runner, inputs={"rows": runner.rows}, padding=len)
    result = call(ones(5))
    assert result.tolist() == [[-4.0, -4.0]] * 5
    assert runner.rows.tolist() == [[1.0, 1.0]] * 5 + [[0.0, 0.0]] * 3
    if masked:
        assert canary.findings == []
    else:
        (found,) = canary.findings
        assert (found.code, found.check) == ("CG109", "padding")
        assert "what is in `rows` behind row 5 changes the result of `Mean`" in found.message


def test_an_input_that_no_graph_reads(canary: Any) -> None:
    import torch

    runner = Runner()
    other = torch.zeros(8, 2, device="cuda")
    call = wrapped(runner, inputs=lambda: {"ids": runner.ids, "other": other})
    other.zero_()
    call(ones(8, "int64"), ones(8))
    assert ("CG101", "consumed") in [(found.code, found.check) for found in canary.findings]
    assert "`other`" in messages(canary) and "`ids`" not in messages(canary)


class Steps:
    """Counts in memory; its graph adds what it added when it was captured."""

    def __init__(self) -> None:
        import torch

        self.step = 1.0
        self.total = torch.zeros(2, device="cuda")
        self.graph, _ = capture(self.eagerly)

    def eagerly(self) -> Any:
        return self.total.add_(self.step)

    def __call__(self) -> Any:
        self.graph.replay()
        return self.total


def test_a_runner_gives_what_its_eager_twin_gives(watched: Any) -> None:
    runner = Steps()
    call = wrapped(runner, eager=runner.eagerly)
    for count in (1.0, 2.0, 3.0):
        assert call().tolist() == [count] * 2
    assert watched.findings == []


def test_a_runner_gives_something_else_than_its_eager_twin(watched: Any) -> None:
    runner = Steps()
    call = wrapped(runner, eager=runner.eagerly)
    call()
    runner.step = 2.0
    assert call().tolist() == [2.0] * 2
    (found,) = watched.findings
    assert (found.code, found.check, found.replay) == ("CG402", "twins", 2)
    assert "the result of `Steps` is not what its eager twin gives: 2 of 2 elements" in found.message


def test_everything_is_put_back_when_a_check_fails_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from graphlint.sentinel import watch
    from graphlint.sentinel.canary.inputs import Canaries
    from graphlint.sentinel.wrapping import judges

    def fail(self: Any) -> None:
        raise RuntimeError("the device is lost")

    monkeypatch.setattr(Canaries, "settle", fail)
    replay = torch.cuda.CUDAGraph.replay
    with (
        pytest.raises(RuntimeError, match="the device is lost"),
        watch(virtual=not torch.cuda.is_available()),
    ):
        assert torch.cuda.CUDAGraph.replay is not replay
    assert torch.cuda.CUDAGraph.replay is replay
    assert judges == []


def test_captured_code_never_runs_again_with_the_pattern(tested: Any) -> None:
    """An index that the pattern stands for lies outside of everything."""
    import torch

    index, table = torch.zeros(4, dtype=torch.long, device="cuda"), torch.arange(10.0, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = table[index]

    def look_up(value: int) -> Any:
        index[:3].fill_(value)
        graph.replay()
        return out.clone()

    call = wrapped(look_up, inputs={"index": index})
    assert call(2).tolist() == [2.0, 2.0, 2.0, 0.0]
    assert not [what for what in tested.unseen if "its body raised" in what]
