"""Simulators with analysis beside them."""

import torch


def analysed(steps: int):
    u, side, kept = torch.zeros(64, device="cuda"), torch.cuda.Stream(), []
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = u * 2
    for _ in range(steps):
        graph.replay()  # expect: CG203
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            kept.append(torch.fft.rfft(v))
    return kept


def analysed_at_once(steps: int):
    u, kept = torch.zeros(64, device="cuda"), []
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = u * 2
    for _ in range(steps):
        graph.replay()  # ok: CG203
        kept.append(torch.fft.rfft(v))
    return kept


def reduced(steps: int):
    u, side = torch.zeros(64, device="cuda"), torch.cuda.Stream()
    total, graph = torch.zeros((), device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = u * 2
    for _ in range(steps):
        graph.replay()  # expect: CG203
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            total.add_(v.sum())
    return total


def reduced_once(steps: int):
    u, side = torch.zeros(64, device="cuda"), torch.cuda.Stream()
    total, graph = torch.zeros((), device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = u * 2
    for _ in range(steps):
        graph.replay()  # ok: CG203
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        total.add_(v.sum())
    return total


def pictures(steps: int):
    u, side, images = torch.zeros(64, device="cuda"), torch.cuda.Stream(), []
    graph, other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = u * 2
    with torch.cuda.graph(other):
        w = u * 3
    for _ in range(steps):
        graph.replay()  # expect: CG203
        other.replay()  # ok: CG203
        images.append(w.clone())
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            images.append(v.clone())
    return images


def twice():
    u, side = torch.zeros(64, device="cuda"), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = u * 2
    graph.replay()  # ok: CG203
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        first = v.clone()
    graph.replay()  # expect: CG203
    second = v.clone()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        third = v.clone()
    graph.replay()  # graphlint: ignore[CG203] -- nothing has changed since
    return first, second, third
