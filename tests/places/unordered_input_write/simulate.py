"""Simulators whose boundary values come from elsewhere."""

import torch


def stepped(fields, boundary: torch.Tensor):
    u, border = torch.zeros(64, device="cuda"), torch.zeros(2, device="cuda")
    side, ready = torch.cuda.Stream(), torch.cuda.Event()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.add_(border.sum())
    for field in fields:
        with torch.cuda.stream(side):
            ready.record()
            border.copy_(boundary, non_blocking=True)  # expect: CG105
        torch.cuda.current_stream().wait_event(ready)
        graph.replay()
    return u.clone()


def stepped_in_order(fields, boundary: torch.Tensor):
    u, border = torch.zeros(64, device="cuda"), torch.zeros(2, device="cuda")
    side, ready = torch.cuda.Stream(), torch.cuda.Event()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.add_(border.sum())
    for field in fields:
        with torch.cuda.stream(side):
            border.copy_(boundary, non_blocking=True)  # ok: CG105
            ready.record()
        torch.cuda.current_stream().wait_event(ready)
        graph.replay()
    return u.clone()


def forced(steps: int):
    u, force = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.add_(force)
    for step in range(steps):
        with torch.cuda.stream(side):
            force.fill_(float(step))  # expect: CG105
        graph.replay()
        with torch.cuda.stream(side):
            force.add_(0.0)  # graphlint: ignore[CG105] -- it adds nothing
        graph.replay()
    return u.clone()


def forced_and_joined(steps: int):
    u, force = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.add_(force)
    for step in range(steps):
        with torch.cuda.stream(side):
            force.fill_(float(step))  # ok: CG105
        side.synchronize()
        graph.replay()
    return u.clone()


def mixed(steps: int):
    u, force = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
    side, other = torch.cuda.Stream(), torch.zeros(64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.add_(force)
    for step in range(steps):
        with torch.cuda.stream(side):
            other.fill_(1.0)  # ok: CG105
            torch.mul(force, 0.5, out=force)  # expect: CG105
        graph.replay()
    return u.clone(), other
