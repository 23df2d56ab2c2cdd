"""What the sentinel does on a GPU: that it changes no capture, what it finds of a graph's inputs, and its
own tests.

`python benchmarks/sentinel_gpu.py [--virtual]` prints three tables. The tests are those of tests/sentinel
that say what a program does and what is found; here they run on the GPU.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.sentinel_cost import VIRTUAL, chosen_device

TESTS = ("test_watch_inputs", "test_watch_outputs", "test_watch_order")

Body = Callable[[], Any]
Program = Callable[[], tuple[Body, list[torch.Tensor]]]
PROGRAMS: dict[str, Program] = {}


def program(make: Program) -> Program:
    """Add a program: it makes a body to capture, and the tensors that the body reads from outside."""
    PROGRAMS[make.__name__] = make
    return make


def ones(*shape: int, **kind: Any) -> torch.Tensor:
    return torch.ones(*shape, device="cuda", **kind)


def module_inputs(module: nn.Module, *given: torch.Tensor) -> list[torch.Tensor]:
    return [*module.parameters(), *module.buffers(), *given]


@program
def linear() -> Any:
    layer, x = nn.Linear(64, 64).cuda(), ones(8, 64)
    return lambda: layer(x), module_inputs(layer, x)


@program
def half_mlp() -> Any:
    net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 64)).cuda().half()
    x = ones(16, 256, dtype=torch.half)
    return lambda: net(x) * 0.37 + 1, module_inputs(net, x)


@program
def attention() -> Any:
    q, k, v = (ones(1, 4, 128, 64, dtype=torch.half) for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v), [q, k, v]


@program
def convolution() -> Any:
    layer, x = nn.Conv2d(3, 8, 3).cuda(), ones(1, 3, 16, 16)
    return lambda: layer(x), module_inputs(layer, x)


@program
def batch_norm() -> Any:
    layer, x = nn.BatchNorm1d(8).cuda(), ones(16, 8)
    return lambda: layer(x), module_inputs(layer, x)


@program
def embedding() -> Any:
    table, ids = nn.Embedding(50, 8).cuda(), torch.zeros(4, dtype=torch.long, device="cuda")
    return lambda: table(ids).sum(0), module_inputs(table, ids)


@program
def gru() -> Any:
    net, x = nn.GRU(16, 16).cuda(), ones(4, 1, 16)
    return lambda: net(x)[0], module_inputs(net, x)


@program
def written_out() -> Any:
    a, b, out = ones(8), ones(8), ones(8)
    return lambda: torch.add(a, b, out=out), [a, b, out]


@program
def backward() -> Any:
    layer, x = nn.Linear(8, 8).cuda(), ones(4, 8)
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    grads = [parameter.grad for parameter in layer.parameters()]
    return lambda: layer(x).square().sum().backward(), [*module_inputs(layer, x), *grads]  # type: ignore[list-item]


@program
def adam() -> Any:
    p = nn.Parameter(ones(8))
    p.grad = ones(8)
    optimizer = torch.optim.Adam([p], capturable=True)
    optimizer.step()
    state = optimizer.state[p]
    return optimizer.step, [p, p.grad, state["exp_avg"], state["exp_avg_sq"], state["step"]]


@program
def pinned_copy() -> Any:
    host, into = torch.ones(8).pin_memory(), ones(8)
    return lambda: into.copy_(host, non_blocking=True), [host, into]


@program
def dropout() -> Any:
    x = ones(64)
    return lambda: F.dropout(x), [x]


@program
def compiled() -> Any:
    x, w = ones(64, 64), ones(64, 64)
    function = torch.compile(lambda x, w: ((x @ w) * 2 + 1).relu().softmax(-1) + x)
    return lambda: function(x, w), [x, w]


@program
def triton_kernel() -> Any:
    from benchmarks.sentinel_kernel import scaled

    x, y = ones(1000), ones(1000)
    return lambda: scaled[(4,)](x, y, 1000, 3, BLOCK=256), [x, y]


def recorded() -> list[str]:
    """What the capture that is open on this stream has recorded."""
    if VIRTUAL:
        from graphlint.sentinel.virtual.device import device

        capture = device().current.capture
        return [str(getattr(step, "function", "")) for step in capture.tape] if capture else []
    from graphlint.sentinel.watching.driver import Nodes

    return Nodes().kernels()


def captured(body: Body) -> tuple[list[str], Any]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = body()
        names = recorded()
    graph.replay()
    torch.cuda.synchronize()
    return names, (graph, made)


def compare(name: str, make: Program) -> None:
    """One row: nodes without and with the sentinel, and which inputs it knows."""
    from graphlint.sentinel import session, watch

    body, wanted = make()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            body()
    torch.cuda.current_stream().wait_stream(side)
    bare, kept = captured(body)
    again, kept_too = captured(body)
    row: list[str] = []
    for mode in ("watch", "test"):
        with watch(mode) as watching:  # type: ignore[arg-type]
            names, _ = captured(body)
            observer = session._installed.observer
            assert observer is not None
            record = list(observer._records.values())[-1]
            known = {memory.base for memory in record.captured.memories}  # type: ignore[union-attr]
        found = sum(tensor.untyped_storage().data_ptr() in known for tensor in wanted)
        same = "same" if names == bare else f"DIFFERENT: {len(names)}"
        row.append(f"{mode}: {same}, inputs {found}/{len(wanted)}, findings {len(watching.findings)}")
        for finding in watching.findings:
            row.append(f"{finding.code} {finding.message}")
        row += watching.unseen
    print(
        f"{name:16} {len(bare):4} nodes, twice {'same' if again == bare else 'different'}; " + "; ".join(row)
    )
    del kept, kept_too


def run_tests(module: Any) -> None:
    """The tests of a module, each in a watch of its own."""
    from graphlint.sentinel import watch

    for name, function in vars(module).items():
        modes = {"watched": "watch", "tested": "test"}
        wants = list(inspect.signature(function).parameters) if name.startswith("test_") else []
        if len(wants) != 1 or wants[0] not in modes:
            continue
        try:
            torch.cuda.synchronize()
            with watch(modes[wants[0]]) as watching:  # type: ignore[arg-type]
                function(watching)
            print("passed", module.__name__.rpartition(".")[2], name, flush=True)
        except Exception as error:
            print("FAILED", module.__name__.rpartition(".")[2], name, type(error).__name__, str(error)[:300])
            print("      ", [(f.code, f.confidence, f.message) for f in watching.findings][:4])
            print("      ", traceback.format_exc(limit=-1).splitlines()[1:3], flush=True)


def main() -> None:
    with chosen_device():
        print("torch", torch.__version__, torch.cuda.get_device_name(), flush=True)
        for test in TESTS:  # before anything is compiled: then eager code cannot be looked at in old torch
            run_tests(importlib.import_module(f"tests.sentinel.{test}"))
        for name, make in PROGRAMS.items():
            start = time.perf_counter()
            try:
                compare(name, make)
            except Exception as error:
                print(f"{name:16} {type(error).__name__}: {str(error)[:300]}")
                print("   ", traceback.format_exc(limit=-3).splitlines()[1:7])
            print(f"    {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
