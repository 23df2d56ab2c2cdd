"""Numbers in lists and dicts that captured code goes through, and batches of unknown kind on the device."""

from __future__ import annotations

import pytest

from tests.programs import check_marks


def _weighted(*, start: str, body: str, change: str) -> str:
    return f"""
import torch

class Terms:
    def __init__(self) -> None:
        self.weights = {start}
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.total()

    def scaled(self, a: float, b: float):
        return self.x * a + self.x * b{"  # expect: CG402" if "**" in body else ""}

    def total(self):
        {body}

    def change(self, key, weight: float) -> None:
        {change}

    def step(self, x, weight: float):
        self.x.copy_(x)
        self.change("b", weight)
        self.graph.replay()
        return self.out.clone()
"""


LIST, DICT = "[1.0, 0.5]", '{"a": 1.0, "b": 0.5}'


@pytest.mark.parametrize(
    ("start", "body", "change"),
    [
        (LIST, "return sum(w * self.x for w in self.weights)", "self.weights[1] = weight"),
        (
            LIST,
            "return torch.stack([w * x for x, w in zip([self.x] * 2, self.weights)])",
            "self.weights[1] *= 2",
        ),
        (LIST, "return [w * self.x for _, w in enumerate(self.weights)][-1]", "self.weights[-1] = weight"),
        (DICT, "return sum(w * self.x for w in self.weights.values())", "self.weights[key] = weight"),
        (DICT, "return [w * self.x for _, w in self.weights.items()][-1]", "self.weights.update(b=weight)"),
    ],
)
def test_a_number_knows_the_item_that_it_was_got_from(start: str, body: str, change: str) -> None:
    check_marks(_weighted(start=start, body=f"{body}  # expect: CG402", change=change))
    check_marks(_weighted(start=start, body=f"{body}  # ok: CG402", change="self.changed = weight"))


def test_a_number_knows_the_item_that_became_a_keyword() -> None:
    change = 'self.weights["b"] = weight'
    check_marks(_weighted(start=DICT, body="return self.scaled(**self.weights)", change=change))


def _fed(*, advance: str, batch: str) -> str:
    return f"""
import torch
from torch import nn

class Feed:
    def __init__(self, loader, net: nn.Module) -> None:
        self.batches, self.net = iter(loader), net
        self.x = torch.zeros(4, 8, device="cuda")
        self.graph = None

    def advance(self) -> None:
        x, y = next(self.batches)
        {advance}

    def record(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.net({batch})
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.net({batch})

    @torch.no_grad()
    def step(self):
        self.advance()
        if self.graph is None:
            self.record()
        self.graph.replay()
        return self.out.clone()
"""


@pytest.mark.parametrize(
    ("advance", "batch"),
    [
        ("self.held = x.cuda()", "self.held"),
        ('self.held = (x.to("cuda"), y.to("cuda"))', "self.held[0]"),
        ('self.held = {"x": x.cuda(non_blocking=True)}', 'self.held["x"]'),
    ],
)
def test_a_batch_that_was_moved_to_the_device_is_new_memory(advance: str, batch: str) -> None:
    check_marks(_fed(advance=f"{advance}  # expect: CG101", batch=batch))


def test_a_batch_may_be_moved_on_its_way_into_the_input() -> None:
    check_marks(_fed(advance="self.x.copy_(x.cuda())  # ok: CG101", batch="self.x"))


def test_each_graph_reads_what_was_moved_for_it() -> None:
    check_marks(
        """
import torch
from torch import nn

@torch.no_grad()
def record(samples, net: nn.Module):
    graphs = []
    for sample in samples:
        x = sample.cuda()
        net(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = net(x)
        graphs.append((graph, x, out))
    for graph, x, out in graphs:
        graph.replay()
    return graphs
"""
    )


def test_a_parameter_is_set_under_the_name_that_it_was_listed_with() -> None:
    program = """
import torch
from torch import nn

class Policy:
    def __init__(self) -> None:
        self.net = nn.Linear(4, 2).cuda()
        self.x = torch.zeros(1, 4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            self.net(self.x)
            with torch.cuda.graph(self.graph):
                self.out = self.net(self.x)

    def load(self, state) -> None:
        for name, p in self.net.named_parameters():
            {load}

    def act(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()

def run(queue, batches):
    policy = Policy()
    for x in batches:
        policy.load(queue.get())
        policy.act(x)
"""
    replaced = "setattr(self.net, name, nn.Parameter(state[name].cuda()))  # expect: CG102"
    check_marks(program.format(load=replaced))
    check_marks(program.format(load="p.data.copy_(state[name])"))
