"""Spectral and linear solvers."""

import torch


def spectral(u: torch.Tensor):
    u = u.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        v = torch.fft.irfft(torch.fft.rfft(u) * 0.5)
    return graph, u, v


def spectral_warm(u: torch.Tensor):
    u = u.cuda()
    torch.fft.rfft(u)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG701
        v = torch.fft.irfft(torch.fft.rfft(u) * 0.5)
    return graph, u, v


def implicit(a: torch.Tensor, b: torch.Tensor):
    a, b = a.cuda(), b.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        x = torch.einsum("ij,j->i", a, b)
    return graph, a, b, x


def explicit(u: torch.Tensor):
    u = u.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG701
        v = u + 0.1 * (torch.roll(u, 1) - u)
    return graph, u, v


def convolved(u: torch.Tensor, kernel: torch.Tensor):
    u, kernel = u.cuda(), kernel.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        v = torch.nn.functional.conv1d(u, kernel)
    other = torch.cuda.CUDAGraph()
    with torch.cuda.graph(other):  # graphlint: ignore[CG701] -- the message is what the guide shows
        w = u @ u.transpose(1, 2)
    return graph, other, u, kernel, v, w


def graphed(width: int):
    layer, x = torch.nn.Linear(width, width).cuda(), torch.zeros(4, width, device="cuda")
    return torch.cuda.make_graphed_callables(layer, (x,))  # ok: CG701
