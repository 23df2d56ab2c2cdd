"""Loops that stage their inputs."""

import torch
from staging import Staging


def serve(batches):
    staging, x = Staging(16), torch.zeros(16, device="cuda")
    graph, results = torch.cuda.CUDAGraph(), torch.zeros(64, 16, device="cuda")
    with torch.cuda.graph(graph):
        y = x * 2
    for index, batch in enumerate(batches):
        staging.host.copy_(batch)  # expect: CG107
        staging.send(x)
        graph.replay()
        results[index].copy_(y)
    return results


def serve_in_order(batches):
    staging, x = Staging(16), torch.zeros(16, device="cuda")
    graph, results = torch.cuda.CUDAGraph(), torch.zeros(64, 16, device="cuda")
    with torch.cuda.graph(graph):
        x.copy_(staging.host, non_blocking=True)
        y = x * 2
    for index, batch in enumerate(batches):
        staging.load_when_free(batch)
        graph.replay()
        staging.free.record()
        results[index].copy_(y)
    return results


def eager_copy(batches):
    stage, x = torch.zeros(16).pin_memory(), torch.zeros(16, device="cuda")
    graph, results = torch.cuda.CUDAGraph(), torch.zeros(64, 16, device="cuda")
    with torch.cuda.graph(graph):
        y = x * 2
    for index, batch in enumerate(batches):
        stage[:8] = batch  # expect: CG107
        x.copy_(stage, non_blocking=True)
        graph.replay()
        results[index].copy_(y)
    return results


def blocking_copy(batches):
    stage, x = torch.zeros(16).pin_memory(), torch.zeros(16, device="cuda")
    graph, results = torch.cuda.CUDAGraph(), torch.zeros(64, 16, device="cuda")
    with torch.cuda.graph(graph):
        y = x * 2
    for index, batch in enumerate(batches):
        stage.copy_(batch)  # ok: CG107
        x.copy_(stage)
        graph.replay()
        results[index].copy_(y)
    return results


def ring(batches):
    stages = [torch.zeros(16).pin_memory(), torch.zeros(16).pin_memory()]
    x, graph = torch.zeros(16, device="cuda"), torch.cuda.CUDAGraph()
    results = torch.zeros(64, 16, device="cuda")
    with torch.cuda.graph(graph):
        y = x * 2
    for index, batch in enumerate(batches):
        stage = stages[index % 2]
        stage.copy_(batch)  # ok: CG107
        x.copy_(stage, non_blocking=True)
        graph.replay()
        results[index].copy_(y)
    return results
