"""Simulators that are watched from another stream."""

import torch


def watched(steps: int):
    u, run = torch.zeros(64, device="cuda"), torch.cuda.Stream()
    graph, trace = torch.cuda.CUDAGraph(), torch.zeros(64, device="cuda")
    with torch.cuda.graph(graph):
        energy = u * u
    for step in range(steps):
        run.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(run):
            graph.replay()
        trace[step] = energy.sum()  # expect: CG202
    return trace


def watched_in_order(steps: int):
    u, run = torch.zeros(64, device="cuda"), torch.cuda.Stream()
    graph, trace = torch.cuda.CUDAGraph(), torch.zeros(64, device="cuda")
    with torch.cuda.graph(graph):
        energy = u * u
    for step in range(steps):
        run.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(run):
            graph.replay()
        torch.cuda.current_stream().wait_stream(run)
        trace[step] = energy.sum()  # ok: CG202
    return trace


def drawn(steps: int):
    u, draw = torch.zeros(64, device="cuda"), torch.cuda.Stream()
    graph, image = torch.cuda.CUDAGraph(), torch.zeros(64, device="cuda")
    with torch.cuda.graph(graph):
        shade = u * 0.5
    for _ in range(steps):
        graph.replay()
        with torch.cuda.stream(draw):
            image.copy_(shade)  # expect: CG202
        draw.synchronize()
    return image


def drawn_in_order(steps: int):
    u, draw = torch.zeros(64, device="cuda"), torch.cuda.Stream()
    graph, image = torch.cuda.CUDAGraph(), torch.zeros(64, device="cuda")
    with torch.cuda.graph(graph):
        shade = u * 0.5
    for _ in range(steps):
        graph.replay()
        draw.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(draw):
            image.copy_(shade)  # ok: CG202
        draw.synchronize()
    return image


def summed(steps: int):
    u, run = torch.zeros(64, device="cuda"), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        energy = u * u
    run.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(run):
        graph.replay()
    total = energy + u  # expect: CG202
    torch.cuda.synchronize()
    mean = energy.mean()  # ok: CG202
    run.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(run):
        graph.replay()
    shown = energy.mean()  # graphlint: ignore[CG202] -- only drawn, and drawn again
    return total, mean, shown
