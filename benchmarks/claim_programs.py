"""Programs that show what pages had claimed unmeasured; `measure_claims.py` runs each in a process."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

LONG = 200_000_000  # cycles that a kernel sleeps so that others overtake it


def captured(body: Callable[[], Any], warm: bool = True, **options: Any) -> tuple[torch.cuda.CUDAGraph, Any]:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3 if warm else 0):
            body()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        made = body()
    return graph, made


def ones(*sizes: int) -> torch.Tensor:
    return torch.ones(*sizes, device="cuda")


def first(value: torch.Tensor) -> float:
    torch.cuda.synchronize()
    return float(value.detach().flatten()[0])


# ---------------------------------------------------------------------------------------------- inputs


def shows_derived_weight_forgotten() -> dict[str, Any]:
    layer = nn.Linear(4, 4, bias=False).cuda()
    nn.init.ones_(layer.weight)
    derived = layer.weight.detach().float() * 1.0
    x = ones(1, 4)
    graph, y = captured(lambda: x @ derived)
    layer.load_state_dict({"weight": torch.full((4, 4), 10.0)})
    graph.replay()
    return {"after a reload": first(y), "expected": 40}


def written_in_vain(make: Callable[[], torch.Tensor]) -> float:
    """What a graph reads of an input that the captured body itself makes and eager code writes."""

    def body() -> tuple[torch.Tensor, torch.Tensor]:
        x = make()
        return x, x * 2

    graph, (x, y) = captured(body)
    x.fill_(5)
    graph.replay()
    return first(y)


def shows_input_allocated_in_capture() -> dict[str, Any]:
    return {"with zeros": written_in_vain(lambda: torch.zeros(4, device="cuda")), "expected": 10}


def shows_input_allocated_empty() -> dict[str, Any]:
    made = written_in_vain(lambda: torch.empty(4, device="cuda"))
    return {"with empty, read last here": made, "expected": 10}


def shows_cpu_work_frozen() -> dict[str, Any]:
    lengths, staged = torch.ones(4), torch.zeros(4).pin_memory()
    x = ones(4)

    def body() -> torch.Tensor:
        staged.copy_(lengths * 2)
        x.copy_(staged, non_blocking=True)
        return x + 0

    graph, y = captured(body)
    lengths.fill_(10)
    graph.replay()
    return {"after a change on the host": first(y), "expected": 20}


def shows_cpu_accumulator() -> dict[str, Any]:
    seen, x = torch.zeros(()), ones(4)

    def body() -> torch.Tensor:
        seen.add_(1)
        return x * 2

    graph, _ = captured(body, warm=False)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    return {"counted": float(seen), "expected": 3}


# --------------------------------------------------------------------------------------------- outputs


def shows_output_read_on_another_stream() -> dict[str, Any]:
    x = ones(4)

    def body() -> torch.Tensor:
        torch.cuda._sleep(LONG)
        return x * 2

    graph, y = captured(body)
    graph.replay()
    torch.cuda.synchronize()
    x.fill_(5)
    torch.cuda.synchronize()
    other, read = torch.cuda.Stream(), torch.zeros_like(y)
    torch.cuda.synchronize()
    graph.replay()
    with torch.cuda.stream(other):
        read.copy_(y)
    torch.cuda.synchronize()
    return {"read": first(read), "expected": 10}


def shows_replay_before_readers() -> dict[str, Any]:
    x = ones(4)
    graph, y = captured(lambda: x * 2)
    graph.replay()
    torch.cuda.synchronize()
    other, read = torch.cuda.Stream(), torch.zeros_like(y)
    torch.cuda.synchronize()
    with torch.cuda.stream(other):
        torch.cuda._sleep(LONG)
        read.copy_(y)
    x.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    return {"the reader of the first replay got": first(read), "expected": 2}


def shows_same_pool_at_the_same_time() -> dict[str, Any]:
    a, b = ones(1024), torch.full((1024,), 100.0, device="cuda")

    def of(x: torch.Tensor) -> Callable[[], torch.Tensor]:
        def body() -> torch.Tensor:
            kept = x * 1
            torch.cuda._sleep(LONG)
            return kept * 2

        return body

    one, y = captured(of(a))
    two, z = captured(of(b), pool=one.pool())
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        one.replay()
    with torch.cuda.stream(t):
        two.replay()
    torch.cuda.synchronize()
    return {"got": [first(y), first(z)], "expected": [2, 200]}


def shows_same_graph_at_the_same_time() -> dict[str, Any]:
    x = ones(4)

    graph, y = captured(lambda: x * 2)
    s, t, read = torch.cuda.Stream(), torch.cuda.Stream(), torch.zeros_like(y)
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        torch.cuda._sleep(LONG)
        graph.replay()
        read.copy_(y)
    with torch.cuda.stream(t):
        x.fill_(5)
        graph.replay()
    torch.cuda.synchronize()
    return {"the first call got": first(read), "expected": 2}


# ----------------------------------------------------------------------------------- frozen host state


def trained() -> tuple[nn.Linear, torch.Tensor]:
    layer = nn.Linear(4, 1, bias=False).cuda()
    nn.init.ones_(layer.weight)
    return layer, ones(2, 4)


def shows_hook_registered_later() -> dict[str, Any]:
    layer, x = trained()
    calls: list[int] = []
    graph, _ = captured(lambda: layer(x))
    layer.register_forward_hook(lambda *_: calls.append(1))
    graph.replay()
    return {"calls of the hook": len(calls), "expected": 1}


def shows_requires_grad_turned_off() -> dict[str, Any]:
    layer, x = trained()

    def body() -> torch.Tensor:
        loss = layer(x).sum()
        loss.backward()
        return loss

    layer.weight.grad = None
    graph, _ = captured(body)
    assert layer.weight.grad is not None
    layer.weight.grad.zero_()
    layer.weight.requires_grad_(False)
    graph.replay()
    return {"gradient": first(layer.weight.grad), "expected": 0}


def shows_callable_replaced() -> dict[str, Any]:
    class Step:
        def __init__(self) -> None:
            self.function: Callable[[torch.Tensor], torch.Tensor] = torch.abs

    step, x = Step(), torch.full((4,), -3.0, device="cuda")
    graph, y = captured(lambda: step.function(x))
    step.function = torch.square
    graph.replay()
    return {"got": first(y), "expected": 9}


def shows_different_seed_in_capture() -> dict[str, Any]:
    def body() -> torch.Tensor:
        torch.manual_seed(1234)
        return torch.rand(4, device="cuda")

    torch.manual_seed(1)
    graph, y = captured(body, warm=False)
    graph.replay()
    one = first(y)
    graph.replay()
    return {"the same each time": one == first(y)}


# ---------------------------------------------------------------------------------------------- memory


def grown(capture: Callable[[], Any]) -> int:
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    kept = capture()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    megabytes = (torch.cuda.memory_reserved() - before) >> 20
    del kept
    return megabytes


def sizes(order: list[int], pool: bool, streams: bool = False) -> list[Any]:
    kept: list[Any] = []
    shared = torch.cuda.graph_pool_handle() if pool else None
    for size in order:
        x = torch.zeros(size << 18, device="cuda")
        options: dict[str, Any] = {"pool": shared} if pool else {}
        if streams:
            options["stream"] = torch.cuda.Stream()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, **options):
            (x * 2 + 1).sum()
        kept.append(graph)
        del x
    return kept


def shows_memory_of_pools() -> dict[str, Any]:
    """Megabytes reserved for graphs of 32, 64, 128 and 256 MB of temporaries."""
    up = [32, 64, 128, 256]
    down = up[::-1]
    return {
        "one pool, large to small": grown(lambda: sizes(down, True)),
        "one pool, small to large": grown(lambda: sizes(up, True)),
        "a pool for each": grown(lambda: sizes(down, False)),
        "one pool, a stream for each": grown(lambda: sizes(down, True, True)),
    }


def shows_lazy_cache_of_capture() -> dict[str, Any]:
    cache: dict[str, torch.Tensor] = {}
    x = ones(4)

    def body() -> torch.Tensor:
        if "cos" not in cache:
            cache["cos"] = torch.full((4,), 7.0, device="cuda")
        return x * cache["cos"]

    graph, y = captured(body, warm=False)
    eager = first(x * cache["cos"])
    other, z = captured(body, warm=False)
    other.replay()
    second = first(z)
    graph.replay()
    return {"eager": eager, "second graph": second, "first graph": first(y), "expected": 7}


def shows_collector_in_capture() -> dict[str, Any]:
    def cycle() -> None:
        graph, y = captured(lambda: ones(4) * 2)
        held: dict[str, Any] = {"graph": graph, "y": y}
        held["self"] = held

    gc.disable()
    cycle()
    x = ones(4)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        gc.collect()
        y = y + 1
    graph.replay()
    return {"got": first(y), "expected": 3}


# -------------------------------------------------------------------------------------------- training


def shows_eager_backward_twice() -> dict[str, Any]:
    layer, x = trained()
    graph, loss = captured(lambda: layer(x).square().sum())
    graph.replay()
    loss.backward()
    graph.replay()
    loss.backward()
    return {"gradient": first(layer.weight.grad)}


def shows_eager_backward_retained() -> dict[str, Any]:
    layer, x = trained()
    graph, y = captured(lambda: layer(x * 1).square().sum())
    graph.replay()
    y.backward(retain_graph=True)
    one = first(layer.weight.grad)
    x.fill_(3)
    layer.weight.grad = None
    graph.replay()
    y.backward(retain_graph=True)
    again = first(layer.weight.grad)
    layer.weight.grad = None
    x.fill_(1)
    y.backward(retain_graph=True)
    last = first(layer.weight.grad)
    return {"gradients": [one, again, last], "expected": [16, 144, 16]}


def shows_eager_backward_of_a_rewritten_input() -> dict[str, Any]:
    layer, x = trained()
    graph, y = captured(lambda: layer(x).square().sum())
    graph.replay()
    y.backward(retain_graph=True)
    x.fill_(3)
    graph.replay()
    y.backward(retain_graph=True)
    return {"gradient": first(layer.weight.grad)}


def shows_loss_computed_eagerly() -> dict[str, Any]:
    layer, x = trained()
    target = ones(2, 1)
    graph, y = captured(lambda: layer(x))
    gradients = []
    for _ in range(2):
        layer.weight.grad = None
        graph.replay()
        nn.functional.mse_loss(y, target).backward()
        gradients.append(first(layer.weight.grad))
    return {"gradients": gradients}


def shows_loss_computed_eagerly_through_two_layers() -> dict[str, Any]:
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)).cuda()
    x, target = ones(2, 4), ones(2, 1)
    graph, y = captured(lambda: net(x))
    for _ in range(2):
        graph.replay()
        nn.functional.mse_loss(y, target).backward()
    return {"gradient": first(net[0].weight.grad)}


def shows_second_derivative_of_graphed() -> dict[str, Any]:
    layer, _ = trained()
    graphed = torch.cuda.make_graphed_callables(layer, (torch.ones(2, 4, device="cuda", requires_grad=True),))
    x = torch.ones(2, 4, device="cuda", requires_grad=True)
    y = graphed(x).square().sum()
    (gradient,) = torch.autograd.grad(y, x, create_graph=True)
    gradient.square().sum().backward()
    return {"x.grad": None if x.grad is None else first(x.grad)}


def scaled(step: bool, optimizer: torch.optim.Optimizer, layer: nn.Module, x: torch.Tensor) -> dict[str, Any]:
    scaler = torch.amp.GradScaler("cuda", init_scale=16.0, growth_interval=2)
    scaler.scale(layer(x).sum()).backward()
    scaler.step(optimizer)
    scaler.update()

    def body() -> torch.Tensor:
        loss = scaler.scale(layer(x).sum())
        loss.backward()
        if step:
            scaler.step(optimizer)
        scaler.update()
        return loss

    graph, _ = captured(body, warm=False)
    graph.replay()
    return {"scale": scaler.get_scale()}


def shows_scaler_step_fused() -> dict[str, Any]:
    layer, x = trained()
    optimizer = torch.optim.Adam(layer.parameters(), fused=True, capturable=True)
    return scaled(True, optimizer, layer, x)


def shows_scaler_step_plain() -> dict[str, Any]:
    layer, x = trained()
    return scaled(True, torch.optim.SGD(layer.parameters(), lr=0.1), layer, x)


def shows_scaler_update_only() -> dict[str, Any]:
    layer, x = trained()
    return scaled(False, torch.optim.SGD(layer.parameters(), lr=0.1), layer, x)


# ---------------------------------------------------------------------------------------- warm-up, compile


def shows_compiled_with_another_shape() -> dict[str, Any]:
    function = torch.compile(lambda t: (t * 2).sum(-1))
    function(ones(16, 8))
    x = ones(4, 8)
    graph, y = captured(lambda: function(x), warm=False)
    graph.replay()
    return {"got": first(y), "expected": 16}


def shows_compiled_with_another_rank() -> dict[str, Any]:
    function = torch.compile(lambda t: (t * 2).sum(-1))
    function(ones(16, 8))
    x = ones(2, 4, 8)
    graph, y = captured(lambda: function(x), warm=False)
    graph.replay()
    return {"got": first(y), "expected": 16}


def shows_compiled_dynamic_with_another_shape() -> dict[str, Any]:
    function = torch.compile(lambda t: (t * 2).sum(-1), dynamic=True)
    function(ones(16, 8))
    x = ones(4, 8)
    graph, y = captured(lambda: function(x), warm=False)
    graph.replay()
    return {"got": first(y), "expected": 16}


def shows_convolution_with_another_shape() -> dict[str, Any]:
    return convolved(benchmark=False)


def shows_benchmarked_convolution_with_another_shape() -> dict[str, Any]:
    return convolved(benchmark=True)


def convolved(benchmark: bool) -> dict[str, Any]:
    torch.backends.cudnn.benchmark = benchmark
    layer = nn.Conv2d(3, 8, 3).cuda()
    layer(ones(8, 3, 32, 32))
    x = ones(2, 3, 64, 64)
    graph, y = captured(lambda: layer(x), warm=False)
    graph.replay()
    return {"shape": list(y.shape)}


def shows_linear_with_another_shape() -> dict[str, Any]:
    layer = nn.Linear(64, 64).cuda()
    layer(ones(8, 64))
    x = ones(1, 64)
    graph, y = captured(lambda: layer(x), warm=False)
    graph.replay()
    return {"shape": list(y.shape)}


def compiled_steps(twice: bool, mark: bool) -> dict[str, Any]:
    net = torch.compile(nn.Linear(8, 8).cuda(), mode="reduce-overhead")
    x = ones(4, 8)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(6):
            if mark:
                torch.compiler.cudagraph_mark_step_begin()
            y = net(x)
            loss = (y - net(x * 2)).square().mean() if twice else y.square().mean()
            loss.backward()
    texts = [str(each.message).split(". ")[0][:160] for each in seen if "CUDAGraph" in str(each.message)]
    return {"warnings": sorted(set(texts)), "times": len(texts)}


def shows_compiled_once_before_backward() -> dict[str, Any]:
    return compiled_steps(twice=False, mark=False)


def shows_compiled_twice_before_backward() -> dict[str, Any]:
    return compiled_steps(twice=True, mark=False)


def shows_compiled_twice_before_backward_marked() -> dict[str, Any]:
    return compiled_steps(twice=True, mark=True)


def shows_autotuned_with_another_key() -> dict[str, Any]:
    import claim_kernels

    x, y = ones(1024), ones(2048)
    claim_kernels.double(x)
    torch.cuda.synchronize()
    graph, _ = captured(lambda: claim_kernels.double(y), warm=False)
    graph.replay()
    return {"captured": True}


# --------------------------------------------------------------------------------- other libraries' captures


def shows_cupy_capture_of_another_stream() -> dict[str, Any]:
    """`begin_capture` without `with stream:`: the work goes to the default stream."""
    import cupy as cp

    seen: dict[str, Any] = {}
    for name, options in (("non-blocking", {"non_blocking": True}), ("blocking", {})):
        x = cp.ones(4, dtype=cp.float32)
        stream = cp.cuda.Stream(**options)
        cp.cuda.runtime.deviceSynchronize()
        try:
            stream.begin_capture()
            x *= 2
            graph = stream.end_capture()
            cp.cuda.runtime.deviceSynchronize()
            recorded_once = float(x[0])
            graph.launch(stream)
            cp.cuda.runtime.deviceSynchronize()
            seen[name] = {"after the capture": recorded_once, "after a launch": float(x[0])}
        except Exception as error:
            seen[name] = f"{type(error).__name__}: {str(error)[:160]}"
            return seen
    return seen


def shows_driver_capture_of_another_stream() -> dict[str, Any]:
    from cuda.bindings import runtime

    x, stream = ones(4), torch.cuda.Stream()
    torch.cuda.synchronize()
    mode = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    runtime.cudaStreamBeginCapture(stream.cuda_stream, mode)
    x.mul_(2)
    _, graph = runtime.cudaStreamEndCapture(stream.cuda_stream)
    _, _, count = runtime.cudaGraphGetNodes(graph)
    torch.cuda.synchronize()
    return {"nodes": int(count), "after the capture": first(x)}


def shows_cupy_frozen_number_and_rebound_input() -> dict[str, Any]:
    import cupy as cp

    x, y = cp.ones(4, dtype=cp.float32), cp.zeros(4, dtype=cp.float32)
    stream, factor = cp.cuda.Stream(non_blocking=True), 2
    with stream:
        cp.multiply(x, factor, out=y)
        stream.begin_capture()
        cp.multiply(x, factor, out=y)
        graph = stream.end_capture()
    factor = 3
    x = cp.full(4, 5, dtype=cp.float32)
    cp.cuda.runtime.deviceSynchronize()
    graph.launch(stream)
    stream.synchronize()
    return {"got": float(y[0]), "expected": 15}


# ------------------------------------------------------------------------------------------ one process group


def shows_object_collectives() -> dict[str, Any]:
    import torch.distributed as dist

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=0, world_size=1)
    x = ones(4)
    dist.all_reduce(x)
    received: list[Any] = [None]
    seen: dict[str, Any] = {}
    for name, call in {
        "gather_object": lambda: dist.gather_object({"a": 1}, received),
        "scatter_object_list": lambda: dist.scatter_object_list(received, [{"a": 1}]),
    }.items():
        call()
        try:
            captured(call, warm=False)
            seen[name] = "captured"
        except Exception as error:
            seen[name] = (
                f"{type(error.__context__ or error).__name__}: {str(error.__context__ or error)[:120]}"
            )
    return seen
