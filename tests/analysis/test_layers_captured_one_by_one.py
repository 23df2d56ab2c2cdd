"""Layers that are captured one by one when they first run, and what training does to them afterwards."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

LAYERS = """
import torch
from torch import nn

class Replay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, runner, x):
        ctx.runner = runner
        runner.x.data.copy_(x)
        runner.forward_graph.replay()
        return runner.y.detach()

    @staticmethod
    def backward(ctx, grad):
        ctx.runner.grad.copy_(grad)
        ctx.runner.backward_graph.replay()
        return None, ctx.runner.grad_x.clone()

class Runner:
    def __init__(self, layer):
        self.layer = layer
        self.forward_graph = None

    def capture(self, x):
        self.x = x.detach().clone().requires_grad_()
        self.parameters = tuple(self.layer.parameters())
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = self.layer.work(self.x)
            torch.autograd.grad(y, (self.x, *self.parameters), torch.zeros_like(y))
            del y
        torch.cuda.current_stream().wait_stream(side)
        self.forward_graph, self.backward_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.forward_graph):
            self.y = self.layer.work(self.x)
        self.grad = torch.zeros_like(self.y)
        with torch.cuda.graph(self.backward_graph, pool=self.forward_graph.pool()):
            grads = torch.autograd.grad(self.y, (self.x, *self.parameters), self.grad)
            for parameter, grad in zip(self.parameters, grads[1:]):
                parameter.main_grad.add_(grad)
        self.grad_x = grads[0]

    def __call__(self, x):
        if self.forward_graph is None:
            self.capture(x)
        return Replay.apply(self, x)

class Guarded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
{guard}
        return grad * 2

class Part(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, size, device="cuda"))

    def forward(self, x):
        return x @ self.weight

class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size, device="cuda")
        self.part = Part(size)
        self.runners = {{}}

    def work(self, x):
        return Guarded.apply(self.part(self.norm(x)))

    def forward(self, x, number):
        if number not in self.runners:
            self.runners[number] = Runner(self)
        return self.runners[number](x)

class Stack(nn.Module):
    def __init__(self, size, count):
        super().__init__()
        self.first = nn.Linear(size, size, device="cuda")
        self.second = nn.Linear(size, size, device="cuda")
        self.layers = nn.ModuleList(Layer(size) for _ in range(count))
        self.last = nn.Linear(size, size, device="cuda")

    def forward(self, x, number):
        x = self.second(self.first(x))
        for layer in self.layers:
            x = layer(x, number)
        return self.last(x)

class Wrapped(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.gradients = torch.zeros(1000, device="cuda")
        self.bind()

    def bind(self):
        for parameter in self.module.parameters():
            parameter.main_grad = self.gradients[: parameter.numel()].view(parameter.shape){bound}

    def forward(self, x, number):
        return self.module(x, number)

def load(model, path):
    state = torch.load(path)
{load}

def forward_and_backward(model, number):
    loss = model(torch.randn(4, 16, device="cuda"), number).sum()
    loss.backward()
    return loss.item()

def main():
    model = Wrapped(Stack(16, 8))
    for step in range(1000):
{reset}
        for number in range(4):
            mean = forward_and_backward(model, number)
        if mean != mean:
            load(model, "last.pt")

main()
"""
RIGHT = {
    "guard": "        grad = grad * 1",
    "bound": "",
    "load": "    model.load_state_dict(state)",
    "reset": "        model.gradients.zero_()",
}


def test_what_keeps_memory_is_silent() -> None:
    check_marks(LAYERS.format(**RIGHT))


@pytest.mark.parametrize(
    "change",
    [
        {"guard": "        if torch.isnan(grad).any():  # expect: CG401\n            raise ValueError"},
        {
            "load": "    for name, parameter in model.named_parameters():\n"
            "        parameter.data = state[name].cuda()  # expect: CG102"
        },
        {
            "reset": "        model.gradients = torch.zeros(1000, device='cuda')\n        model.bind()",
            "bound": "  # expect: CG101",
        },
    ],
    ids=["a branch in the backward pass", "weights put in place", "gradients made anew"],
)
def test_what_replays_miss_is_seen_after_all_were_captured(change: dict[str, str]) -> None:
    check_marks(LAYERS.format(**{**RIGHT, **change}))


def test_a_comparison_with_itself_asks_for_nan() -> None:
    check_marks(
        """
import torch

def train(model, batches):
    graph = torch.cuda.CUDAGraph()
    x = torch.zeros(8, device="cuda")
    model(x)
    with torch.cuda.graph(graph):
        loss = model(x)
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        value = loss.item()
        if value != value:
            x = torch.zeros(8, device="cuda")  # expect: CG101
"""
    )
