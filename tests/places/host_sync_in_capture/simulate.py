"""A solver with a barrier in its inner loop, and a debug build of it."""

import torch


def flush(stream=None):
    (stream or torch.cuda.current_stream()).synchronize()  # expect: CG301


def relax(u: torch.Tensor, sweeps: int):
    for _ in range(sweeps):
        u = u + 0.1 * (torch.roll(u, 1) - u)
        flush()
    return u


def checked(u: torch.Tensor):
    torch.cuda.synchronize()  # graphlint: ignore[CG301] -- replaced by a no-op in release builds
    return u * 2


def project(u: torch.Tensor):
    torch.cuda.synchronize(u.device)  # expect: CG301
    return u - u.mean()


def record(u: torch.Tensor):
    u = u.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = project(checked(relax(u, 4)))
    return graph, u, v
