"""Simulators whose parameters come from the host."""

import torch


def driven(steps: int):
    force, u = torch.zeros(8, pin_memory=True), torch.zeros(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.add_(force.to("cuda", non_blocking=True))
    for step in range(steps):
        force.fill_(step)  # expect: CG107
        graph.replay()
    return u.clone()


def driven_and_read(steps: int):
    force, u = torch.zeros(8, pin_memory=True), torch.zeros(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.add_(force.to("cuda", non_blocking=True))
    for step in range(steps):
        force.fill_(step)  # ok: CG107
        graph.replay()
        print(u.sum().item())
    return u.clone()


def two_phases():
    value, u, v = (
        torch.zeros(8, pin_memory=True),
        torch.zeros(8, device="cuda"),
        torch.zeros(8, device="cuda"),
    )
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.copy_(value, non_blocking=True)
        value.fill_(2.0)  # expect: CG107
        v.copy_(value, non_blocking=True)
    graph.replay()
    return u.clone(), v.clone()


def two_values():
    first, second = torch.zeros(8, pin_memory=True), torch.zeros(8, pin_memory=True)
    u, v = torch.zeros(8, device="cuda"), torch.zeros(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    second.fill_(2.0)  # ok: CG107
    with torch.cuda.graph(graph):
        u.copy_(first, non_blocking=True)
        v.copy_(second, non_blocking=True)
    graph.replay()
    return u.clone(), v.clone(), first, second


def late(batches):
    stage, x = torch.zeros(8, pin_memory=True), torch.zeros(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.copy_(stage, non_blocking=True)
    for batch in batches:
        graph.replay()
        stage.copy_(batch)  # expect: CG107
    return x.clone()


def waited(batches):
    stage, x = torch.zeros(8, pin_memory=True), torch.zeros(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.copy_(stage, non_blocking=True)
    for batch in batches:
        graph.replay()
        torch.cuda.synchronize()
        stage.copy_(batch)  # ok: CG107
    return x.clone()


def cleared(steps: int):
    stage, x = torch.zeros(8, pin_memory=True), torch.zeros(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.copy_(stage, non_blocking=True)
    for step in range(steps):
        stage[0] = step  # expect: CG107
        graph.replay()
    for _ in range(steps):
        stage.zero_()  # graphlint: ignore[CG107] -- the same value each time
        graph.replay()
    return x.clone()
