"""Simulators that report to the host."""

import torch


def reported(steps: int):
    u, report = torch.zeros(64, device="cuda"), torch.zeros(64, pin_memory=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.mul_(0.99)
        report.copy_(u, non_blocking=True)
    for _ in range(steps):
        graph.replay()
        print(report)  # expect: CG204
    return report


def reported_in_order(steps: int):
    u, report = torch.zeros(64, device="cuda"), torch.zeros(64, pin_memory=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        u.mul_(0.99)
        report.copy_(u, non_blocking=True)
    for _ in range(steps):
        graph.replay()
        torch.cuda.current_stream().synchronize()
        print(report)  # ok: CG204
    return report


def copied(u: torch.Tensor):
    u = u.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = u * 2
    graph.replay()
    host = v.to("cpu", non_blocking=True)
    return host.numpy(), u  # expect: CG204


def copied_and_waited(u: torch.Tensor):
    u = u.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = u * 2
    graph.replay()
    host = v.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    return host.numpy(), u  # ok: CG204


def polled(u: torch.Tensor):
    u, done = u.cuda(), torch.cuda.Event()
    report, graph = torch.zeros(64, pin_memory=True), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        report.copy_(u * 2, non_blocking=True)
    graph.replay()
    done.record()
    while not done.query():
        pass
    return report.sum().item(), u  # ok: CG204


def doubled(u: torch.Tensor):
    u, report = u.cuda(), torch.zeros(64, pin_memory=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        report.copy_(u * 2, non_blocking=True)
    graph.replay()
    twice = report + report  # expect: CG204
    back = report.to("cuda", non_blocking=True)  # ok: CG204
    return twice, back, u


def shown(u: torch.Tensor):
    u, report = u.cuda(), torch.zeros(64, pin_memory=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        report.copy_(u * 2, non_blocking=True)
    graph.replay()
    return report.tolist(), u  # graphlint: ignore[CG204] -- an old value will do
