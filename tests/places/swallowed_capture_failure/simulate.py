"""Random walks with a graph where possible."""

import contextlib

import torch


def walk(position: torch.Tensor):
    position = position.cuda()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            position.add_(torch.randn(3, device="cuda"))
    except (RuntimeError, ValueError):  # expect: CG508
        graph = None
    return graph, position


def kick(position: torch.Tensor):
    position = position.cuda()
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            position.uniform_(-1, 1)
    except RuntimeError as error:  # expect: CG508
        print("no graph:", error)
        return None, position
    return graph, position


def kick_or_stop(position: torch.Tensor):
    position = position.cuda()
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            position.uniform_(-1, 1)
    except RuntimeError as error:  # ok: CG508
        print("no graph:", error)
        raise
    return graph, position


def shuffled(position: torch.Tensor):
    position = position.cuda()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            order = torch.randperm(64, device="cuda")
            position.copy_(position[order])
    except BaseException:  # expect: CG508
        graph = None
    return graph, position


def drift(position: torch.Tensor):
    position = position.cuda()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            position.mul_(0.99)
    except RuntimeError:  # ok: CG508
        graph = None
    return graph, position


def sampled(weights: torch.Tensor):
    weights = weights.cuda()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            chosen = torch.multinomial(weights, 4)
    except RuntimeError:  # expect: CG508
        graph, chosen = None, None
    return graph, weights, chosen


def bernoulli(weights: torch.Tensor):
    weights = weights.cuda()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            chosen = torch.bernoulli(weights)
    except RuntimeError:  # graphlint: ignore[CG508] -- nothing random runs afterwards
        graph, chosen = None, None
    return graph, weights, chosen


def logged(weights: torch.Tensor):
    with contextlib.suppress(KeyError):
        print(weights.shape)
    try:
        chosen = torch.bernoulli(weights)
    except RuntimeError:  # ok: CG508
        chosen = None
    return chosen
