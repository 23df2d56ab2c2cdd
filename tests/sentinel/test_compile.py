"""torch.compile on the device: uncompiled, said once, with the semantics that programs notice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sentinel.capturing import capture

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile. on the virtual CUDA device")


def test_it_says_that_nothing_is_compiled(cuda: Any) -> None:
    import torch

    with pytest.warns(UserWarning, match="runs uncompiled"):
        assert torch.compile(lambda x: x * 2)(torch.ones(1, device="cuda")).item() == 2


def test_compiling_in_a_capture_fails(cuda: Any) -> None:
    import torch

    twice = torch.compile(lambda x: x * 2)
    ones = torch.ones(1, device="cuda")
    with (
        pytest.raises(RuntimeError, match="backend='inductor' raised"),
        pytest.warns(UserWarning, match="empty"),
    ):
        capture(lambda: twice(ones))


def test_a_warm_compiled_function_is_captured(cuda: Any) -> None:
    import torch

    twice = torch.compile(torch.nn.Linear(2, 2).cuda())
    ones = torch.ones(1, 2, device="cuda")
    twice(ones)
    graph, out = capture(lambda: twice(ones))
    graph.replay()
    assert torch.equal(out, twice(ones))


def test_compiling_again_for_another_shape_in_a_capture(cuda: Any) -> None:
    import torch

    twice = torch.compile(lambda x: x * 2)
    twice(torch.ones(1, device="cuda"))
    more = torch.ones(2, device="cuda")
    graph, out = capture(lambda: twice(more))
    graph.replay()
    assert out.tolist() == [2, 2]


def test_reduce_overhead_overwrites_its_outputs(cuda: Any) -> None:
    import torch

    twice = torch.compile(lambda x: x * 2, mode="reduce-overhead")
    kept = [twice(torch.full((1,), float(i), device="cuda")) for i in range(3)]
    assert kept[-1].item() == 4
    with pytest.raises(RuntimeError, match="overwritten by a subsequent run"):
        kept[1] + 1


def test_reduce_overhead_in_a_capture_fails(cuda: Any) -> None:
    import torch

    twice = torch.compile(lambda x: x * 2, mode="reduce-overhead")
    ones = torch.ones(1, device="cuda")
    twice(ones), twice(ones)
    with (
        pytest.raises(RuntimeError, match="Cannot prepare for replay"),
        pytest.warns(UserWarning, match="Graph is empty"),
    ):
        capture(lambda: twice(ones))


def test_what_was_compiled_before_runs_uncompiled_too() -> None:
    torch = pytest.importorskip("torch")
    from graphlint.sentinel import virtual_cuda

    if torch.version.cuda is not None:
        pytest.skip("the virtual device needs torch for the CPU")
    runs: list[int] = []

    def twice(x: Any) -> Any:
        runs.append(1)
        return x * 2

    compiled = torch.compile(twice, backend="eager")
    compiled(torch.ones(2))
    with virtual_cuda():
        assert compiled(torch.ones(2, device="cuda")).device.type == "cuda"
        ones = torch.ones(2, device="cuda")
        graph, out = capture(lambda: compiled(ones))
        graph.replay()
        assert out.tolist() == [2, 2] and len(runs) >= 2
