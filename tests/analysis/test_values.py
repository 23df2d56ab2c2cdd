"""What values are: tensors and where they live, host numbers and whether they change."""

from __future__ import annotations

import pytest

from graphlint.finding import Confidence
from tests.programs import check_marked_rules, findings

ON_DEVICE = {
    "factory": 'v = torch.zeros(4, device="cuda")',
    "index": 'v = torch.zeros(4, device="cuda:1")',
    "device object": 'v = torch.ones(4, device=torch.device("cuda", 0))',
    "number": "v = torch.ones(4, device=0)",
    "method": "v = torch.ones(4).cuda()",
    "to": 'v = torch.ones(4).to("cuda")',
    "to device": 'd = torch.device("cuda")\n    v = torch.ones(4).to(device=d)',
    "like": 'v = torch.zeros_like(torch.ones(4, device="cuda"))',
    "new": 'v = torch.ones(4, device="cuda").new_zeros(4)',
    "arithmetic": 'v = 1 + torch.ones(4, device="cuda") * 2',
    "method result": 'v = torch.ones(4, device="cuda").float().view(2, 2).sum()',
    "comparison": 'v = torch.ones(4, device="cuda") > 0',
    "item of a list": 'v = [torch.ones(4, device="cuda")][0]',
    "value of a dict": 'v = {"a": torch.ones(4, device="cuda")}["a"]',
    "unpacked": 'v, w = torch.ones(4, device="cuda"), 3',
    "split": 'v, w = torch.ones(4, device="cuda").chunk(2)',
    "topk": 'v, w = torch.topk(torch.ones(4, device="cuda"), 2)',
    "default device": 'torch.set_default_device("cuda")\n    v = torch.ones(4)',
    "function": "v = make()",
    "annotated function": "v = annotated()",
    "module": "v = torch.nn.Linear(4, 4).cuda()(torch.ones(4, device='cuda'))",
    "parameter": "v = torch.nn.Linear(4, 4).cuda().weight",
    "functional": 'v = torch.nn.functional.softmax(torch.ones(4, device="cuda"), dim=0)',
    "conditional": 'v = torch.ones(4, device="cuda") if len(sys.argv) > 1 else torch.zeros(4, device="cuda")',
    "stack": 'v = torch.stack([torch.ones(4, device="cuda")] * 2)',
    "where": 'v = torch.where(torch.ones(4, device="cuda") > 0, 1.0, 0.0)',
    "walrus": 'print(v := torch.ones(4, device="cuda"))',
    "loop": 'for v in [torch.ones(4, device="cuda")]:\n        pass',
    "namedtuple": 'v = Pair(torch.ones(4, device="cuda"), 1).left',
    "dataclass": 'v = Record(torch.ones(4, device="cuda")).left',
    "optional argument": "v = optional(None)",
}
HEAD = """
import dataclasses
import sys
from typing import NamedTuple, Optional

import numpy as np
import torch


class Pair(NamedTuple):
    left: torch.Tensor
    right: int


@dataclasses.dataclass
class Record:
    left: torch.Tensor


def make():
    return torch.ones(4, device="cuda")


def annotated() -> torch.Tensor:
    return unknown_library_call()


def optional(v: Optional[torch.Tensor]):
    if v is None:
        v = torch.ones(4, device="cuda")
    return v


def on_host():
    return torch.ones(4)

"""


@pytest.mark.parametrize("made", ON_DEVICE.values(), ids=ON_DEVICE)
def test_device_tensors(made: str) -> None:
    check_marked_rules(
        f"""{HEAD}
def record(g):
    {made}
    with torch.cuda.graph(g):
        float(v.sum())  # expect: CG302
    float(v.sum())  # ok: CG302
"""
    )


ON_HOST = {
    "factory": "v = torch.zeros(4)",
    "device": 'v = torch.zeros(4, device="cpu")',
    "data": "v = torch.tensor([1, 2, 3])",
    "numpy": "v = torch.from_numpy(np.zeros(4))",
    "as tensor": "v = torch.as_tensor([1, 2])",
    "pinned": "v = torch.zeros(4).pin_memory()",
    "pinned factory": "v = torch.zeros(4, pin_memory=True)",
    "arithmetic": "v = torch.ones(4) * 2 + 1",
    "method": "v = torch.ones(4).float().view(2, 2).sum()",
    "like": "v = torch.zeros_like(torch.ones(4))",
    "copied before": 'v = torch.ones(4, device="cuda").cpu()',
    "to": 'v = torch.ones(4, device="cuda").to("cpu")',
    "function": "v = on_host()",
    "list": "v = [1, 2, 3][0]",
    "numpy array": "v = np.zeros(4)",
    "numpy sum": "v = np.arange(4).sum()",
    "item before": 'v = torch.ones(4, device="cuda").sum().item()',
    "numpy before": 'v = torch.ones(4, device="cuda").cpu().numpy()',
    "randperm": "v = torch.randperm(4)",
    "device context": 'with torch.device("cpu"):\n        v = torch.ones(4)',
    "default device": 'torch.set_default_device("cpu")\n    v = torch.ones(4)',
    "number": "v = 3",
    "text": 'v = "3"',
    "unknown": "v = unknown_library_call()",
    "meta": 'v = torch.ones(4, device="meta")',
}


@pytest.mark.parametrize("made", ON_HOST.values(), ids=ON_HOST)
def test_host_values(made: str) -> None:
    check_marked_rules(
        f"""{HEAD}
def record(g):
    {made}
    with torch.cuda.graph(g):
        int(v)  # ok: CG302
        float(v)  # ok: CG302
        if v:  # ok: CG401
            pass
        if v > 1:  # ok: CG401
            pass
        str(v)  # ok: CG304
        f"{{v}}"  # ok: CG304
"""
    )


SHAPES = {
    "shape": "n = int(x.shape[0])",
    "len": "n = len(x)",
    "size": "n = x.size(0)",
    "numel": "n = x.numel()",
    "dim": "n = x.dim()",
    "ndim": "n = x.ndim",
    "stride": "n = x.stride(0)",
    "product": "n = int(x.shape[0] * x.shape[1])",
    "unpacked": "n, m = x.shape",
    "last": "n = x.size()[-1]",
    "maximum": "n = max(x.shape[0], 16)",
    "element size": "n = x.element_size() * x.nelement()",
    "pointer": "n = x.data_ptr()",
    "shape numel": "n = x.shape.numel()",
    "dtype": "n = x.dtype.itemsize",
    "math": "n = math.ceil(x.shape[0] / 16)",
    "helper": "n = rows(x)",
    "property": "n = Batch(x).rows",
}


@pytest.mark.parametrize("read", SHAPES.values(), ids=SHAPES)
def test_shapes_are_never_flagged(read: str) -> None:
    check_marked_rules(
        f"""
import math

import torch


def rows(x):
    return x.shape[0]


class Batch:
    def __init__(self, x):
        self.x = x

    @property
    def rows(self):
        return int(self.x.size(0))


def record(g, x: torch.Tensor):
    with torch.cuda.graph(g):
        {read}
        if n > 4:  # ok: CG401, CG402
            x = x[:n]  # ok: CG402
        for _ in range(n):  # ok: CG402, CG302
            x = x * n  # ok: CG402
        f"{{n}}"  # ok: CG304
        int(n)  # ok: CG302
        y = x.view(n, -1)  # ok: CG305
        assert n > 0  # ok: CG401
    return x


def step(x: torch.Tensor):
    g = torch.cuda.CUDAGraph()
    out = record(g, x)
    g.replay()
    return out
"""
    )


def test_a_zero_dimensional_tensor_is_still_a_tensor() -> None:
    check_marked_rules(
        """
import torch


def record(g):
    x = torch.zeros(4, device="cuda")
    scale = torch.tensor(2.0)
    count = torch.tensor(2, device="cuda")
    with torch.cuda.graph(g):
        y = x * scale
        int(scale)  # ok: CG302
        int(count)  # expect: CG302
        range(count)  # expect: CG302
        [1, 2, 3][count]  # expect: CG302
        y[count]  # expect: CG302
"""
    )


def test_isinstance_tells_what_a_value_is() -> None:
    check_marked_rules(
        """
import torch


def total(value):
    if isinstance(value, torch.Tensor):
        return value.sum().item()  # expect: CG302
    if isinstance(value, (int, float)):
        return int(value)  # ok: CG302
    return float(value)  # ok: CG302


def record(g, value):
    x = torch.zeros(4, device="cuda")
    with torch.cuda.graph(g):
        total(x)
        total(3)
        total(value)
"""
    )


def test_an_unknown_device_is_at_most_likely() -> None:
    program = """
import torch


def record(g, x: torch.Tensor):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(g):
        x.sum().item()
        y.sum().item()
"""
    found = findings(program, select=("CG302",))
    assert [each.confidence for each in found] == [Confidence.LIKELY, Confidence.DEFINITE]


def test_default_device_contexts() -> None:
    check_marked_rules(
        """
import torch


def inside(g):
    with torch.device("cuda"):
        x = torch.zeros(4)
        table = make()
    with torch.cuda.graph(g):
        int(x.sum())  # expect: CG302
        int(table.sum())  # expect: CG302


def outside(g):
    with torch.device("cuda"):
        pass
    x = torch.zeros(4)
    with torch.cuda.graph(g):
        int(x.sum())  # ok: CG302


def make():
    return torch.ones(4)
"""
    )


COPIES = {
    "clone": ("y.clone()", "ok"),
    "clone of a slice": ("y[:2].clone()", "ok"),
    "arithmetic": ("y * 1", "ok"),
    "host": ("y.cpu()", "ok"),
    "numpy": ("y.cpu().numpy()", "ok"),
    "item": ("y.sum().item()", "ok"),
    "cast": ("y.to(torch.float64, copy=True)", "ok"),
    "cat": ("torch.cat([y, y])", "ok"),
    "stack": ("torch.stack([y])", "ok"),
    "shape": ("y.shape", "ok"),
    "itself": ("y", "expect"),
    "slice": ("y[:2]", "expect"),
    "view": ("y.view(-1)", "expect"),
    "detach": ("y.detach()", "expect"),
    "squeeze": ("y.squeeze(0)", "expect"),
    "tuple": ("(y, 1)", "expect"),
    "dict": ('{"y": y}', "expect"),
    "transpose": ("y.t()", "expect"),
    "unbind": ("y.unbind(0)[0]", "expect"),
}


@pytest.mark.parametrize(("kept", "word"), COPIES.values(), ids=COPIES)
def test_copies_and_aliases_of_an_output(kept: str, word: str) -> None:
    check_marked_rules(
        f"""
import torch


def main(net: torch.nn.Module, batches: list[torch.Tensor]):
    x = torch.zeros(2, 4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = net(x)
    outputs = []
    for batch in batches:
        x.copy_(batch)
        g.replay()
        outputs.append({kept})  # {word}: CG201
    print(outputs)
    return outputs[0]
"""
    )


NUMBERS = {
    "constant": ("", "4", "ok"),
    "configuration": ("", "self.width", "ok"),
    "changing argument": ("n", "n", "expect"),
    "changing attribute": ("", "self.position", "expect"),
    "derived": ("n", "n * 2 + 1", "expect"),
    "shape": ("x", "x.shape[0]", "ok"),
    "length": ("x", "len(x)", "ok"),
}


@pytest.mark.parametrize(("parameter", "number", "word"), NUMBERS.values(), ids=NUMBERS)
def test_host_numbers_that_change_and_those_that_do_not(parameter: str, number: str, word: str) -> None:
    annotation = {"n": ", n: int", "x": ", x: torch.Tensor", "": ""}[parameter]
    check_marked_rules(
        f"""
import torch


class Runner:
    def __init__(self, width: int):
        self.width = width
        self.position = 0
        self.graph = None
        self.buffer = torch.zeros(64, device="cuda")

    def step(self{annotation}):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.buffer * ({number})  # {word}: CG402
        self.position += 1
        self.graph.replay()
        return self.out.clone()
"""
    )


def test_the_key_of_a_graph_does_not_change_within_it() -> None:
    check_marked_rules(
        """
import torch


class Runner:
    def __init__(self):
        self.graphs = {}
        self.buffer = torch.zeros(64, device="cuda")

    def step(self, n: int, scale: float):
        if n not in self.graphs:
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                out = self.buffer[:n] * n  # ok: CG402
                out = out * scale  # expect: CG402
            self.graphs[n] = (g, out)
        g, out = self.graphs[n]
        g.replay()
        return out.clone()
"""
    )


def test_a_record_as_the_key_of_a_graph() -> None:
    check_marked_rules(
        """
import dataclasses

import torch


@dataclasses.dataclass(frozen=True)
class Key:
    rows: int
    lora: bool = False


class Runner:
    def __init__(self):
        self.graphs = {}
        self.buffer = torch.zeros(64, device="cuda")

    def step(self, key: Key, scale: float):
        if key not in self.graphs:
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                out = self.buffer[: key.rows] * key.rows  # ok: CG402
                out = out * scale  # expect: CG402
            self.graphs[key] = (g, out)
        g, out = self.graphs[key]
        g.replay()
        return out.clone()
"""
    )


@pytest.mark.parametrize("count", [7, 8, 20])
@pytest.mark.parametrize(("end", "mark"), [("x.item()", "expect"), ("x.sum()", "ok")])
def test_a_tensor_that_many_tests_may_have_changed(count: int, end: str, mark: str) -> None:
    steps = "\n".join(f"    if flags[{i}]:\n        x = x + {i}" for i in range(count))
    check_marked_rules(
        f"""
import torch


def changed(x, flags):
{steps}
    return {end}  # {mark}: CG302


def main(flags):
    x = torch.zeros(1, device="cuda")
    changed(x, flags)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = changed(x, flags)
    graph.replay()
"""
    )
