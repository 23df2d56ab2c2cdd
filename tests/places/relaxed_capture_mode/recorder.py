"""A recorder whose callers choose the mode."""

import torch


def recorded(work, x: torch.Tensor, mode: str):
    x = x.cuda()
    work(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):  # expect: CG510
        y = work(x)
    return graph, x, y


def in_mode_of_settings(work, x: torch.Tensor, settings):
    x = x.cuda()
    work(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=settings.mode):  # ok: CG510
        y = work(x)
    return graph, x, y
