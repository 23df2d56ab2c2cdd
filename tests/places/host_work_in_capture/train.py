"""Training steps with weights that the host chooses."""

import torch


def train(batches, steps: int):
    x, weights = torch.zeros(64, device="cuda"), torch.ones(64)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        normal = (weights / weights.sum()).pin_memory()  # expect: CG407
        y = x * normal.to("cuda", non_blocking=True)
    for index, batch in enumerate(batches):
        x.copy_(batch)
        weights[index % 64] = 0.5
        graph.replay()
    return y.clone()


def train_on_device(batches, steps: int):
    x, weights = torch.zeros(64, device="cuda"), torch.ones(64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        normal = weights / weights.sum()  # ok: CG407
        y = x * normal
    for batch in batches:
        x.copy_(batch)
        weights.mul_(0.5)
        graph.replay()
    return y.clone()


def train_with_note(batches):
    x, weights, kept = torch.zeros(64, device="cuda"), torch.ones(64), torch.zeros(64, pin_memory=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept.copy_(weights.abs())  # graphlint: ignore[CG407] -- the first weights are meant
        y = x * kept.to("cuda", non_blocking=True)
    for batch in batches:
        x.copy_(batch)
        weights.mul_(0.5)
        graph.replay()
    return y.clone()


def count(batches):
    x, seen = torch.zeros(64, device="cuda"), torch.zeros(1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        seen.add_(1)  # expect: CG407
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        print(seen)
    return y.clone()
