"""Nested loops, single calls, forward passes."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def once(net: nn.Module, x: torch.Tensor):
    with torch.cuda.stream(torch.cuda.Stream()):
        model = DistributedDataParallel(net)
        model(x).mean().backward()  # expect: CG809
        model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()
    graph.replay()


def nested(net: nn.Module, x: torch.Tensor):
    with torch.cuda.stream(torch.cuda.Stream()):
        model = DistributedDataParallel(net)
        for _ in range(3):  # ok: CG809
            for _ in range(4):
                model.zero_grad()
                model(x).mean().backward()
        model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()
    graph.replay()


def nested_short(net: nn.Module, x: torch.Tensor):
    with torch.cuda.stream(torch.cuda.Stream()):
        model = DistributedDataParallel(net)
        for _ in range(2):  # expect: CG809
            for _ in range(2):
                model.zero_grad()
                model(x).mean().backward()
        model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()
    graph.replay()


def forward_only(net: nn.Module, x: torch.Tensor):
    model = DistributedDataParallel(net)
    for _ in range(3):  # ok: CG809
        model(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        y = model(x)
    graph.replay()
    return x, y


def not_distributed(net: nn.Module, x: torch.Tensor):
    for _ in range(3):  # ok: CG809
        net.zero_grad()
        net(x).mean().backward()
    net.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).mean().backward()
    graph.replay()


def in_two_parts(net: nn.Module, x: torch.Tensor):
    with torch.cuda.stream(torch.cuda.Stream()):
        model = DistributedDataParallel(net)
        for _ in range(6):
            model.zero_grad()
            model(x).mean().backward()
        for _ in range(6):  # ok: CG809
            model.zero_grad()
            model(x).mean().backward()
        model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()
    graph.replay()


def in_two_short_parts(net: nn.Module, x: torch.Tensor):
    with torch.cuda.stream(torch.cuda.Stream()):
        model = DistributedDataParallel(net)
        for _ in range(2):
            model.zero_grad()
            model(x).mean().backward()
        for _ in range(4):  # expect: CG809
            model.zero_grad()
            model(x).mean().backward()
        model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()
    graph.replay()


def ten(net: nn.Module, x: torch.Tensor):
    with torch.cuda.stream(torch.cuda.Stream()):
        model = DistributedDataParallel(net)
        for _ in range(10):  # expect: CG809
            model.zero_grad()
            model(x).mean().backward()
        model.zero_grad()
        other = DistributedDataParallel(net)
        for _ in range(5):  # graphlint: ignore[CG809] -- its reducer is replaced by a stub
            other.zero_grad()
            other(x).mean().backward()
        other.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (model(x).mean() + other(x).mean()).backward()
    graph.replay()
