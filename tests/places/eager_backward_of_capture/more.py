"""Other ways to a backward pass."""

import torch
from torch import nn


def graphed_callable(batches):
    x = torch.zeros(8, 8, device="cuda")
    net = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (x,))
    for batch in batches:
        net(batch).mean().backward()  # ok: CG805


def by_function(net: nn.Module, x: torch.Tensor):
    x = x.cuda()
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = net(x).mean()
    for _ in range(10):
        graph.replay()
        torch.autograd.backward(loss)  # expect: CG805
    return x


def by_hand(net: nn.Module, x: torch.Tensor):
    x = x.cuda()
    with torch.cuda.stream(torch.cuda.Stream()):
        net(x)
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        loss = net(x).mean()
        graph.capture_end()
    graph.replay()
    loss.backward()  # expect: CG805
    return x


def of_a_fresh_loss(net: nn.Module, x: torch.Tensor):
    x = x.cuda()
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        features = net(x).detach()
    graph.replay()
    head = nn.Linear(8, 8).cuda()
    loss = head(features.clone()).mean()
    loss.backward()  # ok: CG805
    return x


def before(net: nn.Module, x: torch.Tensor):
    x = x.cuda()
    loss = net(x).mean()
    loss.backward()  # ok: CG805
    net.zero_grad(set_to_none=True)
    del loss
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = net(x).mean()
        loss.backward()  # ok: CG805
    graph.replay()
    return x


def shown(net: nn.Module, x: torch.Tensor):
    x = x.cuda()
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = net(x).mean()
    graph.replay()
    loss.backward()  # graphlint: ignore[CG805] -- once only, right after the capture
    return x
