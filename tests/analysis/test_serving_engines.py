"""What engines that serve requests bring together: tables of graphs, records of requests, layers in lists."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

LOOKED_UP = """
import torch

class Shapes:
    def __init__(self, net: torch.nn.Module):
        self.net, self.table = net, {{}}

    def entry(self, x: torch.Tensor):
        key = {key}
        if key not in self.table:
            static = x.clone()
            self.net(static)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = self.net(static)
            self.table[key] = (graph, static, y)
        return self.table[key]

    def __call__(self, x: torch.Tensor):
        graph, static, y = self.entry(x)
        static.copy_(x)
        graph.replay()
        return {result}

def compare(net: torch.nn.Module, a: torch.Tensor, b: torch.Tensor):
    shapes = Shapes(net)
    one = shapes(a)  # {mark}: CG201
    two = shapes(b)
    return one - two
"""


@pytest.mark.parametrize("key", ["tuple(x.shape)", "x.shape", "(x.shape[0], x.dtype)"])
@pytest.mark.parametrize(("result", "mark"), [("y", "expect"), ("y.clone()", "ok")])
def test_an_entry_that_is_looked_up_before_the_replay_is_read_after_it(
    key: str, result: str, mark: str
) -> None:
    check_marks(LOOKED_UP.format(key=key, result=result, mark=mark), select=("CG201",))


BY_NAME = """
import torch

class Streams:
    def __init__(self, net: torch.nn.Module):
        self.state = torch.zeros(4, device="cuda")
        self.states: dict[str, torch.Tensor] = {{}}
        net(self.state)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.next = net(self.state)

    def advance(self, name: str) -> None:
        if name in self.states:
            self.state.copy_(self.states[name])
        self.graph.replay()
        self.states[name] = {kept}  # {mark}: CG201
"""


@pytest.mark.parametrize(
    ("kept", "mark"), [("self.next", "expect"), ("self.next[:2]", "expect"), ("self.next.clone()", "ok")]
)
def test_a_table_by_name_keeps_what_the_next_name_overwrites(kept: str, mark: str) -> None:
    check_marks(BY_NAME.format(kept=kept, mark=mark), select=("CG201",))


REQUESTS = """
from dataclasses import dataclass
import torch

@dataclass
class Request:
    bias: float
    ids: list[int]

class Decoder:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.bias = {first}
        self.graph = None

    def serve(self, request: Request):
        {take}
        if self.graph is None:
            self.x + self.bias
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.x + self.bias  # {mark}: CG402
        self.graph.replay()
        return self.y.clone()
"""
ON_DEVICE = 'torch.zeros((), device="cuda")'


@pytest.mark.parametrize(
    ("first", "take", "mark"),
    [
        ("0.0", "self.bias = request.bias", "expect"),
        (ON_DEVICE, "self.bias.fill_(request.bias)", "ok"),
        ("0.0", "pass", "ok"),
    ],
)
def test_each_request_brings_numbers_of_its_own(first: str, take: str, mark: str) -> None:
    check_marks(REQUESTS.format(first=first, take=take, mark=mark), select=("CG402",))


LAYERS = """
import torch
import torch.nn as nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x, scale):
        {body}
        return self.lin(x) * scale

{other}

class Stack:
    def __init__(self, layers: nn.ModuleList):
        self.layers = layers
        self.x = torch.zeros(4, 4, device="cuda")
        self.scale = torch.ones((), device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        h = self.x
        for {turn}:
            h = layer(h, self.scale)
        return h

    def capture(self):
        self.run()
        with torch.cuda.graph(self.graph):
            self.y = self.run()
"""
SAME_CALL = """
class Other(nn.Module):
    def forward(self, x, scale):
        return x
"""


@pytest.mark.parametrize("turn", ["layer in self.layers", "i, layer in enumerate(self.layers)"])
def test_the_layers_of_a_given_list_are_of_the_one_class_that_fits(turn: str) -> None:
    body = "x.abs().max().item()  # {}: CG302"
    check_marks(LAYERS.format(body=body.format("expect"), other="", turn=turn), select=("CG302",))
    check_marks(LAYERS.format(body=body.format("ok"), other=SAME_CALL, turn=turn), select=("CG302",))


VARIANTS = """
import torch

class Variants:
    def __init__(self, net: torch.nn.Module, sizes: list[int]):
        self.graphs, self.rows, self.outs = {{}}, {{}}, {{}}
        for size in sizes:
            for plain in (True, False):
                self.current = torch.zeros(size, device="cuda")  # {mark}: CG101
                self.rows[{key}] = self.current
                net(self.current)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.outs[size, plain] = net(self.current)
                self.graphs[size, plain] = graph

    def __call__(self, size: int, plain: bool, rows: torch.Tensor):
        self.rows[{key}].copy_(rows)
        self.graphs[size, plain].replay()
        return self.outs[size, plain].clone()
"""


@pytest.mark.parametrize(("key", "mark"), [("size", "expect"), ("size, plain", "ok")])
def test_a_second_variant_takes_the_inputs_of_the_first(key: str, mark: str) -> None:
    check_marks(VARIANTS.format(key=key, mark=mark), select=("CG101",))


HOST = """
import torch

class Mixed:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.host = torch.zeros(4, pin_memory=True)
        self.back = torch.zeros(4, pin_memory=True)
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        {down}
        torch.mul(self.host, 2, out=self.back)  # {mark}: CG407
        y = torch.empty_like(self.x)
        y.copy_(self.back, non_blocking=True)
        return y

    def capture(self):
        self.run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.run()

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("down", "mark"), [("self.host.copy_(self.x, non_blocking=True)", "expect"), ("pass", "ok")]
)
def test_what_replays_bring_to_the_host_is_new_each_time(down: str, mark: str) -> None:
    check_marks(HOST.format(down=down, mark=mark), select=("CG407",))


COMPILED = """
import torch

class Guided:
    def __init__(self, net: torch.nn.Linear):
        self.net = torch.compile(net, mode="reduce-overhead")

    {decorator}
    def predict(self, a: torch.Tensor, b: torch.Tensor):
        one = self.net(a){copy}  # {mark}: CG201
        two = self.net(b)
        return one + two
"""


@pytest.mark.parametrize(
    ("decorator", "copy", "mark"),
    [
        ("@torch.no_grad()", "", "expect"),
        ("@torch.inference_mode()", "", "expect"),
        ("@torch.no_grad", "", "expect"),
        ("@torch.inference_mode()", ".clone()", "ok"),
        ("@torch.inference_mode(False)", "", "ok"),
        ("", "", "ok"),
    ],
)
def test_a_method_without_gradients_awaits_no_backward(decorator: str, copy: str, mark: str) -> None:
    check_marks(COMPILED.format(decorator=decorator, copy=copy, mark=mark), select=("CG201",))


BOUNDS = """
import torch

class Packed:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.inputs, self.bounds, self.graphs, self.outs = {{}}, {{}}, {{}}, {{}}

    def prepare(self, x: torch.Tensor, bounds: torch.Tensor):
        key = x.shape[0]
        if key not in self.graphs:
            self.inputs[key], self.bounds[key] = x.clone(), {copy}
            self.net(self.inputs[key], self.bounds[key])
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.outs[key] = self.net(self.inputs[key], self.bounds[key])
            self.graphs[key] = graph
        return key

    def run(self, x: torch.Tensor, bounds: torch.Tensor):
        key = self.prepare(x, bounds)
        self.inputs[key].copy_(x)
        {refill}
        self.graphs[key].replay()  # {mark}: CG101
        return self.outs[key].clone()
"""


@pytest.mark.parametrize(
    ("copy", "refill", "mark"),
    [
        ("bounds.clone()", "pass", "expect"),
        ("bounds.to(torch.int32)", "pass", "expect"),
        ("bounds.clone()", "self.bounds[key].copy_(bounds)", "ok"),
        ("torch.zeros_like(bounds)", "pass", "ok"),
    ],
)
def test_a_copy_of_the_first_arguments_is_written_again(copy: str, refill: str, mark: str) -> None:
    check_marks(BOUNDS.format(copy=copy, refill=refill, mark=mark), select=("CG101",))
