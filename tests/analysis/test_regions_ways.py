"""Ways to write regions that programs really use: helpers, wrappers, registries, other back ends."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

HEAD = """
import contextlib
import functools

import torch
"""


def test_a_helper_that_returns_a_context() -> None:
    check_marked_rules(
        f"""{HEAD}
def region(g, enabled=True):
    if not enabled:
        return contextlib.nullcontext()
    return torch.cuda.graph(g, pool=torch.cuda.graph_pool_handle())


def record(g):
    x = torch.zeros(4, device="cuda")
    with region(g):
        x.sum().item()  # expect: CG302
    with region(g, enabled=False):
        x.sum().item()  # ok: CG302
"""
    )


def test_a_method_of_a_back_end_object() -> None:
    check_marked_rules(
        f"""{HEAD}
class Backend:
    def __init__(self, device: str = "cuda"):
        self.module = torch.get_device_module(device)

    @contextlib.contextmanager
    def graph(self, g, pool, stream):
        with self.module.graph(g, pool=pool, stream=stream):
            yield


class Runner:
    def __init__(self):
        self.backend = Backend()
        self.pool = None
        self.stream = torch.cuda.Stream()
        self.device_module = torch.get_device_module()

    def record(self):
        x = torch.zeros(4, device="cuda")
        g = torch.cuda.CUDAGraph()
        with self.backend.graph(g, self.pool, self.stream):
            x.sum().item()  # expect: CG302
        with self.device_module.graph(cuda_graph=g, pool=self.pool, stream=self.stream):
            x.max().item()  # expect: CG302
        self.device_module.synchronize()  # ok: CG301
"""
    )


def test_a_context_class_that_takes_the_stream_too() -> None:
    check_marked_rules(
        f"""{HEAD}
class graph_capture:
    def __init__(self, device):
        self.stream = torch.cuda.Stream(device=device)
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        self.stack.enter_context(torch.cuda.stream(self.stream))
        return self

    def __exit__(self, *error):
        self.stack.close()
        return False


def record():
    x = torch.zeros(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with graph_capture("cuda") as capture:
        x.sum().item()  # ok: CG302
        with torch.cuda.graph(g, stream=capture.stream):
            x.sum().item()  # expect: CG302
        x.sum().item()  # ok: CG302
"""
    )


def test_a_dispatcher_that_chooses_graph_or_eager() -> None:
    check_marked_rules(
        f"""{HEAD}
class Wrapper:
    def __init__(self, fn, enabled: bool):
        self.fn = fn
        self.enabled = enabled
        self.entries = {{}}

    def __call__(self, x: torch.Tensor):
        if not self.enabled:
            return self.fn(x)
        key = x.shape
        entry = self.entries.get(key)
        if entry is None:
            g = torch.cuda.CUDAGraph()
            static = x.clone()
            with torch.cuda.graph(g):
                out = self.fn(static)
            entry = self.entries[key] = (g, static, out)
        g, static, out = entry
        static.copy_(x)
        g.replay()
        return out.clone()


class Model(torch.nn.Module):
    def forward(self, x):
        return x.nonzero()  # expect: CG305


def main():
    model = Wrapper(Model().cuda(), enabled=True)
    return model(torch.zeros(4, device="cuda"))
"""
    )


def test_a_stored_callable_captured_later() -> None:
    check_marked_rules(
        f"""{HEAD}
class Registry:
    def __init__(self):
        self.steps = []
        self.hooks = {{}}

    def add(self, name, fn):
        self.steps.append(fn)
        self.hooks[name] = fn

    def record(self, x):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            for fn in self.steps:
                x = fn(x)
        return g, x


def first(x):
    return x * x.max().item()  # expect: CG302


def second(x, scale):
    return x * x.min().item() * scale  # expect: CG302


def never(x):
    return x * x.min().item()  # ok: CG302


def main():
    registry = Registry()
    registry.add("first", first)
    registry.add("second", functools.partial(second, scale=2.0))
    print(never(torch.zeros(4, device="cuda")))
    return registry.record(torch.zeros(4, device="cuda"))
"""
    )


def test_a_region_that_a_loop_or_comprehension_opens() -> None:
    check_marked_rules(
        f"""{HEAD}
def record(net: torch.nn.Module, n):
    x = torch.zeros(n, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = net(x)
        y.sum().item()  # expect: CG302
    return g, x, y


def main(net: torch.nn.Module):
    return {{n: record(net, n) for n in (8, 4, 2)}}
"""
    )


def test_a_region_in_an_inner_class_or_static_method() -> None:
    check_marked_rules(
        f"""{HEAD}
class Outer:
    class Recorder:
        def record(self, x: torch.Tensor):
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                x.sum().item()  # expect: CG302

    @staticmethod
    def once(x: torch.Tensor):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            x.sum().item()  # expect: CG302

    @classmethod
    def again(cls, x: torch.Tensor):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            x.sum().item()  # expect: CG302

    def plain(self, x: torch.Tensor):
        x.sum().item()  # ok: CG302
"""
    )


def test_a_region_in_an_async_function_and_a_thread() -> None:
    check_marked_rules(
        f"""{HEAD}
import threading


async def record(x: torch.Tensor):
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        x.sum().item()  # expect: CG302


class Worker:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.thread = threading.Thread(target=self._work)

    def _work(self):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            self.x.sum().item()  # expect: CG302
        self.x.sum().item()  # ok: CG302
"""
    )


OTHERS = {
    "npu": "torch.npu.graph(torch.npu.NPUGraph())",
    "xpu": "torch.xpu.graph(torch.xpu.XPUGraph())",
    "keep graph": "torch.cuda.graph(torch.cuda.CUDAGraph(keep_graph=True))",
    "C extension": "torch.cuda.graph(torch._C._CUDAGraph())",
}


@pytest.mark.parametrize("context", OTHERS.values(), ids=OTHERS)
def test_other_graph_classes(context: str) -> None:
    check_marked_rules(
        f"""{HEAD}
def record():
    x = torch.zeros(4, device="cuda")
    with {context}:
        x.sum().item()  # expect: CG302
    x.sum().item()  # ok: CG302
"""
    )


def test_a_subclass_of_a_project_base_that_captures() -> None:
    check_marked_rules(
        {
            "base.py": """
import abc

import torch


class BaseRunner(abc.ABC):
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.run_once(self.x)

    @abc.abstractmethod
    def run_once(self, x): ...

    def replay(self):
        self.graph.replay()
        return self.out.clone()
""",
            "decode.py": """
from base import BaseRunner


class DecodeRunner(BaseRunner):
    def run_once(self, x):
        return x * x.max().item()  # expect: CG302

    def report(self, x):
        return self.x.max().item()  # ok: CG302
""",
        }
    )


def test_a_mixin_that_captures() -> None:
    check_marked_rules(
        {
            "mixin.py": """
import torch


class CaptureMixin:
    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.forward(self.static)
""",
            "model.py": """
import torch

from mixin import CaptureMixin


class Model(CaptureMixin, torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.static = torch.zeros(4, device="cuda")

    def forward(self, x):
        if (x > 0).any():  # expect: CG401
            return x
        return -x
""",
        }
    )
