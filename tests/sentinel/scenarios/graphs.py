"""How captures begin, end, nest and fail; random numbers; libraries at first use."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from tests.sentinel.capturing import capture, quietly
from tests.sentinel.scenarios import first_words, full, ones, scenario


@scenario()
def capture_default_stream() -> Any:
    x = ones(4)
    capture(lambda: x * 2, stream=torch.cuda.default_stream())


@scenario()
def replay_before_capture() -> Any:
    torch.cuda.CUDAGraph().replay()


@scenario()
def empty_graph() -> Any:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        capture(lambda: None)
    return [str(warning.message) for warning in seen]


@scenario()
def nested_capture() -> Any:
    x = ones(4)
    capture(lambda: capture(lambda: x + 1))


@scenario()
def recapture_same_object() -> Any:
    x = ones(4)
    graph, _ = capture(lambda: x + 1)
    with torch.cuda.graph(graph):
        x.add_(1)


@scenario()
def failed_capture_then_rng() -> Any:
    x, stream, found = ones(8), torch.cuda.current_stream(), {}
    try:
        capture(x.sum().item)
    except Exception as error:
        found["first"] = first_words(error)
    quietly(stream)
    found["add"] = x.sum().item()
    try:
        torch.rand(1, device="cuda")
    except Exception as error:
        found["rng"] = first_words(error)
    graph, out = capture(lambda: x[:4] * 0)
    graph.replay()
    found["cap2"] = out.tolist()
    graph, out = capture(lambda: torch.rand(4, device="cuda") * 0)
    graph.replay()
    return found | {"caprng": out.tolist()}


@scenario()
def cond_capture() -> Any:
    x = ones(4)
    capture(lambda: torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,)))


@scenario()
def warm_missing_cublas() -> Any:
    x = ones(4, 4)
    capture(lambda: x @ x)


@scenario()
def warm_missing_cudnn() -> Any:
    x, w = ones(1, 3, 8, 8), ones(4, 3, 3, 3)
    capture(lambda: torch.nn.functional.conv2d(x, w))


@scenario()
def warm_missing_cudnn_bench() -> Any:
    x, w = ones(1, 3, 8, 8), ones(4, 3, 3, 3)
    torch.backends.cudnn.benchmark = True
    try:
        capture(lambda: torch.nn.functional.conv2d(x, w))
    finally:
        torch.backends.cudnn.benchmark = False


@scenario()
def dropout_varies() -> Any:
    x = ones(64)
    graph, out = capture(lambda: torch.nn.functional.dropout(x, 0.5))
    graph.replay()
    first = out.clone()
    graph.replay()
    return {"different": not torch.equal(first, out)}


@scenario()
def custom_gen_registered() -> Any:
    generator, graph = torch.Generator(device="cuda"), torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        out = torch.rand(8, device="cuda", generator=generator)
    graph.replay()
    first = out.clone()
    graph.replay()
    return {"different": not torch.equal(first, out)}


@scenario()
def cpu_rng_baked() -> Any:
    x = ones(4)
    graph, out = capture(lambda: x * torch.rand(1).item())
    graph.replay()
    first = out.clone()
    graph.replay()
    return {"same": torch.equal(first, out)}


@scenario()
def seed_between_replays() -> Any:
    graph, out = capture(lambda: torch.rand(8, device="cuda"))
    torch.cuda.manual_seed(7)
    graph.replay()
    first = out.clone()
    torch.cuda.manual_seed(7)
    graph.replay()
    return {"same after reseed": torch.equal(first, out)}


@scenario()
def compile_in_capture_cold() -> Any:
    x = ones(4)
    compiled = torch.compile(lambda t: t * 2 + 1)
    capture(lambda: compiled(x))


@scenario()
def reduce_overhead_overwritten() -> Any:
    run = torch.compile(lambda t: t * 2 + 1, mode="reduce-overhead")
    for _ in range(3):
        run(ones(4))
    first = run(ones(4))
    run(full(3.0))
    return first.tolist()


@scenario()
def reduce_overhead_inside_graph() -> Any:
    x = ones(4)
    run = torch.compile(lambda t: t * 2 + 1, mode="reduce-overhead")
    for _ in range(3):
        run(x)
    capture(lambda: run(x))
