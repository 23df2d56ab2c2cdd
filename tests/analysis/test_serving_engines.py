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


BIASES = """
import torch

class Biases:
    def __init__(self):
        self.by_token = {{}}

class Head:
    def __init__(self, biases: Biases):
        self.biases = biases
        self.x = torch.zeros(4, 100, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        y = self.x * 2
        for {turn}:  # {mark}: CG402
            y[:, token] += 1.0
        return y

    def capture(self):
        self.run()
        with torch.cuda.graph(self.graph):
            self.y = self.run()

    def __call__(self, bias: dict[int, float]):
        {take}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "turn", ["token, value in self.biases.by_token.items()", "token in self.biases.by_token"]
)
@pytest.mark.parametrize(
    ("take", "mark"), [("self.biases.by_token = dict(bias)", "expect"), ("len(self.biases.by_token)", "ok")]
)
def test_a_table_that_captured_code_goes_through_is_replaced(turn: str, take: str, mark: str) -> None:
    check_marks(BIASES.format(turn=turn, take=take, mark=mark), select=("CG402",))


OF_KEY = """
import torch

class Count:
    now = 0

class Padded:
    def __init__(self, sizes: list[int]):
        self.sizes = sorted(sizes)
        self.x = torch.zeros(self.sizes[-1], 4, device="cuda")
        self.graphs, self.outs = {{}}, {{}}

    def record(self, size: int, count: int):
        Count.now = count
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.outs[size] = self.x[:size] - self.x[: Count.now].mean(0)  # {mark}: CG402
        self.graphs[size] = graph

    def __call__(self, x: torch.Tensor):
        n = x.shape[0]
        size = next(s for s in self.sizes if s >= n)
        if size not in self.graphs:
            self.record(size, {count})
        Count.now = 0
        self.x[:n].copy_(x)
        self.graphs[size].replay()
        return self.outs[size][:n].clone()
"""


@pytest.mark.parametrize(("count", "mark"), [("n", "expect"), ("size", "ok")])
def test_the_number_that_a_graph_is_kept_by_is_asked_for(count: str, mark: str) -> None:
    check_marks(OF_KEY.format(count=count, mark=mark), select=("CG402",))


HISTORIES = """
{imported}
import torch

class Histories({base}):
    {body}

class Stream:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.state = Histories()
        self.state["h"] = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        y = self.x + self.state["h"]
        {keep}  # {mark}: CG101
        return y * 2

    def capture(self):
        self.run()
        with torch.cuda.graph(self.graph):
            self.y = self.run()

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("imported", "base"), [("", "dict"), ("from collections import OrderedDict", "OrderedDict")]
)
@pytest.mark.parametrize(
    ("keep", "mark"), [('self.state["h"] = y * 0.5', "expect"), ('self.state["h"].copy_(y)', "ok")]
)
def test_a_class_of_tables_holds_what_is_put_into_it(imported: str, base: str, keep: str, mark: str) -> None:
    check_marks(
        HISTORIES.format(imported=imported, base=base, body="pass", keep=keep, mark=mark), select=("CG101",)
    )


PIECES = """
import torch

class Pieces:
    def __init__(self, layers: list[torch.nn.Module]):
        self.layers, self.side = layers, torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()

    def record(self, x):
        for layer in self.layers:
            self.graph.capture_begin()  # {mark}: CG509
            x = layer(x)
            self.graph.capture_end()
        return x

class Runner:
    def __init__(self, layers: list[torch.nn.Module]):
        self.pieces = Pieces(layers)
        self.x = torch.zeros(4, 4, device="cuda")

    def capture(self):
        with torch.cuda.stream(self.pieces.side):
            for layer in self.pieces.layers:
                layer(self.x)
        {context}
            self.y = self.pieces.record(self.x)
"""


@pytest.mark.parametrize(
    ("context", "mark"), [("if True:", "expect"), ("with torch.cuda.stream(self.pieces.side):", "ok")]
)
def test_a_part_is_warmed_up_on_a_stream_by_what_makes_it(context: str, mark: str) -> None:
    check_marks(PIECES.format(context=context, mark=mark), select=("CG509", "CG701"))


HALVES = """
import torch

class Halves:
    def __init__(self, net: torch.nn.Module):
        self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        self.inputs = [torch.zeros(4, 4, device="cuda") for _ in self.streams]
        self.graphs, self.outs = [], []
        pool = torch.cuda.graph_pool_handle()
        for x in self.inputs:
            net(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool={pool}):
                self.outs.append(net(x))
            self.graphs.append(graph)

    def __call__(self, x: torch.Tensor):
        main = torch.cuda.current_stream()
        for i, half in enumerate(x.chunk(2)):
            self.streams[i].wait_stream(main)
            with torch.cuda.stream(self.streams[i]):
                self.inputs[i].copy_(half)
                self.graphs[i].replay()  # {mark}: CG608
"""


@pytest.mark.parametrize(("pool", "mark"), [("pool", "expect"), ("None", "ok")])
def test_halves_of_a_tensor_are_two(pool: str, mark: str) -> None:
    check_marks(HALVES.format(pool=pool, mark=mark), select=("CG608",))


HIDDEN = """
import torch

class Settings:
    scale = 1.0
    {init}

class Scaled:
    def __init__(self, settings: Settings):
        self.settings = settings
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        self.x * self.settings.scale
        with torch.cuda.graph(self.graph):
            self.y = self.x * self.settings.scale  # {mark}: CG402

    def __call__(self, scale: float):
        {take}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("take", "mark"),
    [
        ("self.settings.scale = scale", "expect"),
        ("Settings.scale = scale", "expect"),
        ("self.settings.other = scale", "ok"),
    ],
)
def test_a_field_of_the_instance_hides_that_of_its_class(take: str, mark: str) -> None:
    check_marks(HIDDEN.format(init="pass", take=take, mark=mark), select=("CG402",))


GENERATED = """
import torch

def sizes(most):
    size = 1
    while size <= most:
        yield size
        size *= 2

def capture(net: torch.nn.Module, most: int):
    x = torch.zeros(most, 4, device="cuda")
    pool = torch.cuda.graph_pool_handle()
    table = {{}}
    for size in {turns}:  # {mark}: CG601
        net(x[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            y = net(x[:size])
        table[size] = graph, y
    return x, table
"""


@pytest.mark.parametrize(
    ("turns", "mark"), [("sizes(most)", "expect"), ("reversed(list(sizes(most)))", "ok")]
)
def test_sizes_of_a_generator_are_reported_where_they_are_captured(turns: str, mark: str) -> None:
    check_marks(GENERATED.format(turns=turns, mark=mark), select=("CG601",))
