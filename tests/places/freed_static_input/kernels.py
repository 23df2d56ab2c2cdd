"""Graphs around small pieces of an inference engine; the callers keep the graph and what it needs."""

import torch


def rotary(head: int, length: int):
    frequencies = torch.arange(0, head, 2, device="cuda") / head  # expect: CG103
    positions = torch.zeros(length, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        angles = positions[:, None] * frequencies
    return graph, positions, angles


def penalties(vocabulary: int):
    table = torch.ones(vocabulary, device="cuda")  # ok: CG103
    logits = torch.zeros(vocabulary, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scores = logits / table
    return {"graph": graph, "logits": logits, "scores": scores, "table": table}


def staged(width: int):
    host = torch.zeros(width, pin_memory=True)  # expect: CG103
    device = torch.empty(width, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        device.copy_(host, non_blocking=True)
        doubled = device * 2
    return graph, device, doubled


def masked(width: int):
    graph = torch.cuda.CUDAGraph()
    x = torch.zeros(width, width, device="cuda")
    with torch.cuda.graph(graph):
        mask = torch.ones(width, width, device="cuda").tril()  # ok: CG103
        y = x * mask
    return graph, x, y


def timed(width: int, turns: int):
    x = torch.zeros(width, device="cuda")  # ok: CG103
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    for _ in range(turns):
        graph.replay()
    return y.sum().item()
