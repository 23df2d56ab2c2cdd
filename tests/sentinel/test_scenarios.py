"""Scenarios measured on an H200 (torch 2.11): what came out there comes out here.

Each function returns what the program sees; beside it stands what the GPU gave. Names are those of the measurement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sentinel.capturing import capture

SCENARIOS: list[tuple[str, Callable[[], Any], Any]] = []


def scenario(measured: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Add a scenario with what was measured."""

    def add(function: Callable[[], Any]) -> Callable[[], Any]:
        SCENARIOS.append((function.__name__, function, measured))
        return function

    return add


def fails(body: Callable[[], Any]) -> list[str]:
    """The first lines of the errors that end a capture, the last raised first."""
    try:
        body()
    except Exception as error:
        lines: list[str] = []
        at: BaseException | None = error
        while at is not None and len(lines) < 2:
            lines.append(str(at).splitlines()[0])
            at = at.__context__
        return lines
    return []


LOST = "CUDA error: operation failed due to a previous error during capture"


def ones(*shape: int) -> Any:
    import torch

    return torch.ones(*shape, device="cuda")


@scenario(["CUDA error: capturing stream has unjoined work"])
def outlet_missing() -> Any:
    import torch

    side, x = torch.cuda.Stream(), ones(4)

    def body() -> None:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.add_(1)

    return fails(lambda: capture(body))


@scenario([LOST, "CUDA error: dependency created on uncaptured work in another stream"])
def isolation() -> Any:
    import torch

    side, x = torch.cuda.Stream(), ones(4)
    with torch.cuda.stream(side):
        x.add_(1)
    return fails(lambda: capture(lambda: torch.cuda.current_stream().wait_stream(side)))


@scenario([7.0] * 4)
def pinned_local_dropped() -> Any:
    import torch

    graph, out = capture(lambda: torch.full((4,), 7.0).pin_memory().to("cuda", non_blocking=True))
    graph.replay()
    return out.tolist()


@scenario([2.0] * 4)
def pinned_war_in_capture() -> Any:
    import torch

    host = torch.ones(4).pin_memory()

    def body() -> Any:
        out = host.to("cuda", non_blocking=True)
        host.fill_(2)
        return out

    graph, out = capture(body)
    graph.replay()
    return out.tolist()


@scenario([4.0] * 4)
def param_data_swap() -> Any:
    import torch

    layer, x = torch.nn.Linear(4, 4, bias=False).cuda(), ones(1, 4)
    kept = layer.weight.data.fill_(1)
    with torch.no_grad():
        layer(x)
        graph, out = capture(lambda: layer(x))
    layer.weight.data = torch.full((4, 4), 10.0, device="cuda")
    graph.replay()
    return out[0].tolist() if kept is not None else None


@scenario(([40.0] * 4, True, False, [40.0] * 4))
def load_state_dict_inplace() -> Any:
    import torch

    layer, x = torch.nn.Linear(4, 4, bias=False).cuda(), ones(1, 4)
    pointer, kept = layer.weight.data_ptr(), layer.weight
    with torch.no_grad():
        layer(x)
        graph, out = capture(lambda: layer(x))
    layer.load_state_dict({"weight": torch.full((4, 4), 10.0)})
    graph.replay()
    copied, same = out[0].tolist(), layer.weight.data_ptr() == pointer
    layer.load_state_dict({"weight": torch.full((4, 4), 20.0, device="cuda")}, assign=True)
    graph.replay()
    return copied, same, layer.weight.data_ptr() == kept.data_ptr(), out[0].tolist()


@scenario((True, True))
def module_to_dtype() -> Any:
    import torch

    layer = torch.nn.Linear(4, 4).cuda()
    first = layer.weight.data_ptr()
    keep = layer.weight.data
    layer.half()
    second = layer.weight.data_ptr()
    keep = layer.weight.data
    layer.cpu().cuda()
    return second != first, layer.weight.data_ptr() != keep.data_ptr()


@scenario(([8.0] * 4, [8.0] * 4))
def autocast_cache() -> Any:
    import torch

    layer, x = torch.nn.Linear(8, 4, bias=False).cuda(), ones(1, 8)
    layer.weight.data.fill_(1)
    with torch.autocast("cuda", dtype=torch.float16):
        layer(x)
        graph, out = capture(lambda: layer(x))
        graph.replay()
        before = out[0].tolist()
        layer.weight.data.fill_(2)
        graph.replay()
        return before, out[0].tolist()


@scenario([3.0] * 4)
def grad_preexisting_accumulates() -> Any:
    import torch

    p = torch.nn.Parameter(ones(4))
    p.sum().backward()
    graph, _ = capture(lambda: p.sum().backward())
    graph.replay()
    graph.replay()
    assert p.grad is not None
    return p.grad.tolist()


@scenario((1, 1, [1.0] * 4))
def python_side_effect() -> Any:
    x, seen = ones(4), []

    def body() -> Any:
        seen.append(1)
        return x * len(seen)

    graph, out = capture(body)
    for _ in range(3):
        graph.replay()
    return len(seen), sum(seen), out.tolist()


@scenario((pytest.approx(0.1, abs=1e-4), pytest.approx(0.1, abs=1e-4)))
def sgd_lr_baked() -> Any:
    import torch

    p = torch.nn.Parameter(ones(1))
    p.grad = ones(1)
    optimizer = torch.optim.SGD([p], lr=0.1)
    graph, _ = capture(optimizer.step)
    values = [p.item()]
    graph.replay()
    values.append(p.item())
    optimizer.param_groups[0]["lr"] = 0.0
    graph.replay()
    values.append(p.item())
    return values[0] - values[1], values[1] - values[2]


@scenario([LOST, "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"])
def warm_missing_cublas() -> Any:
    x = ones(4, 4)
    return fails(lambda: capture(lambda: x @ x))


@scenario([LOST, "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"])
def warm_missing_cudnn() -> Any:
    import torch

    x, w = ones(1, 3, 8, 8), ones(4, 3, 3, 3)
    return fails(lambda: capture(lambda: torch.nn.functional.conv2d(x, w)))


@scenario([LOST, "CUDA error: operation not permitted when stream is capturing"])
def nested_capture() -> Any:
    x = ones(4)
    return fails(lambda: capture(lambda: capture(lambda: x + 1)))


@scenario([LOST, "CUDA error: operation not permitted when stream is capturing"])
def cond_capture() -> Any:
    import torch

    x = ones(4)
    return fails(lambda: capture(lambda: torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))))


@scenario((8.0, "Offset increment outside graph capture encountered unexpectedly."))
def failed_capture_then_rng() -> Any:
    import torch

    x, stream = ones(8), torch.cuda.current_stream()
    fails(lambda: capture(x.sum().item))
    torch.cuda.set_stream(stream)
    return x.sum().item(), fails(lambda: torch.rand(1, device="cuda"))[0]


@scenario([4, 4])
def mgc_shape_broadcast() -> Any:
    import torch

    layer = torch.nn.Linear(4, 4).cuda()
    graphed = torch.cuda.make_graphed_callables(layer, (ones(4, 4),))
    return list(graphed(ones(1, 4)).shape)


@scenario("The size of tensor a (4) must match the size of tensor b (2) at non-singleton dimension 0")
def mgc_shape_change() -> Any:
    import torch

    layer = torch.nn.Linear(4, 4).cuda()
    graphed = torch.cuda.make_graphed_callables(layer, (ones(4, 4),))
    return fails(lambda: graphed(ones(2, 4)))[0]


@scenario(True)
def mgc_eval_after_train() -> Any:
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).cuda()
    graphed = torch.cuda.make_graphed_callables(net, (ones(4, 4),))
    graphed.eval()
    return torch.equal(graphed(ones(4, 4)), graphed(ones(4, 4)))


@scenario([2.0] * 4)
def broadcast_copy_silent() -> Any:
    import torch

    given = ones(4)
    graph, out = capture(lambda: given * 1)
    given.copy_(torch.full((1,), 2.0, device="cuda"))
    graph.replay()
    return out.tolist()


@scenario(8.0)
def padding_stale_rows() -> Any:
    given = ones(4)
    graph, out = capture(lambda: given.sum())
    given.fill_(2)
    graph.replay()
    given[:1].copy_(ones(1).mul_(2))  # one row now; the other three are still the old ones
    graph.replay()
    return out.item()


@pytest.mark.parametrize("function, measured", [pytest.param(f, m, id=n) for n, f, m in SCENARIOS])
def test_scenario(cuda: Any, function: Callable[[], Any], measured: Any) -> None:
    assert function() == measured
