"""Several modules, other streams, eager backward passes."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def eager(net: nn.Module, batches):
    model = DistributedDataParallel(net)  # ok: CG806
    for batch in batches:
        model(batch.cuda()).mean().backward()


def graphed_other(net: nn.Module, batches):
    model = DistributedDataParallel(net)  # ok: CG806
    scale = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scale.mul_(0.5)
    for batch in batches:
        graph.replay()
        model(batch.cuda()).mean().backward()


def two(student: nn.Module, teacher: nn.Module, x: torch.Tensor):
    learns = DistributedDataParallel(student)  # expect: CG806
    fixed = DistributedDataParallel(teacher)  # ok: CG806
    target = fixed(x)
    for _ in range(11):
        learns.zero_grad()
        (learns(x) - target).mean().backward()
    learns.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (learns(x) - target).mean().backward()
    graph.replay()
    return target


def on_default_by_name(net: nn.Module, x: torch.Tensor):
    with torch.cuda.stream(torch.cuda.default_stream()):
        model = nn.parallel.DistributedDataParallel(net)  # expect: CG806
    for _ in range(11):
        model.zero_grad()
        model(x).mean().backward()
    model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()
    graph.replay()


def by_hand(net: nn.Module, x: torch.Tensor):
    model = DistributedDataParallel(net, static_graph=True)  # expect: CG806
    for _ in range(11):
        model.zero_grad()
        model(x).mean().backward()
    model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        model(x).mean().backward()
        graph.capture_end()
    graph.replay()


def ended_too_early(net: nn.Module, x: torch.Tensor):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        net = net.cuda()
    model = DistributedDataParallel(net)  # expect: CG806
    with torch.cuda.stream(side):
        for _ in range(11):
            model.zero_grad()
            model(x).mean().backward()
        model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()
    graph.replay()


def shown(net: nn.Module, x: torch.Tensor):
    model = DistributedDataParallel(net)  # graphlint: ignore[CG806] -- the bug report's program
    for _ in range(11):
        model.zero_grad()
        model(x).mean().backward()
    model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()
    graph.replay()
