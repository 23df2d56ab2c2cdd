"""Simulators that exchange their borders in graphs."""

import torch
import torch.distributed as dist

GRAPHS: dict[int, torch.cuda.CUDAGraph] = {}


def exchanged(sizes: list[int]):
    border = torch.zeros(max(sizes), device="cuda")
    pool = torch.cuda.graph_pool_handle()
    for size in sorted(sizes, reverse=True):
        dist.all_reduce(border[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            dist.all_reduce(border[:size])
        GRAPHS[size] = graph
    for graph in GRAPHS.values():
        graph.replay()
    dist.destroy_process_group()  # expect: CG810
    return border


def local(steps: int):
    dist.init_process_group("nccl")
    border, graph = torch.zeros(8, device="cuda"), torch.cuda.CUDAGraph()
    dist.broadcast(border, 0)
    with torch.cuda.graph(graph):
        dist.broadcast(border, 0)
    for _ in range(steps):
        graph.replay()
    dist.barrier()
    dist.destroy_process_group()  # expect: CG810


def local_and_deleted(steps: int):
    dist.init_process_group("nccl")
    border, graph = torch.zeros(8, device="cuda"), torch.cuda.CUDAGraph()
    dist.broadcast(border, 0)
    with torch.cuda.graph(graph):
        dist.broadcast(border, 0)
    for _ in range(steps):
        graph.replay()
    del graph
    dist.destroy_process_group()  # ok: CG810


def in_a_function(border: torch.Tensor, steps: int):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dist.all_reduce(border)
    for _ in range(steps):
        graph.replay()


def whole(steps: int):
    border = torch.zeros(8, device="cuda")
    dist.all_reduce(border)
    in_a_function(border, steps)
    dist.destroy_process_group()  # ok: CG810


def eager(steps: int):
    border = torch.zeros(8, device="cuda")
    for _ in range(steps):
        dist.all_reduce(border)
    dist.destroy_process_group()  # ok: CG810


class Halo:
    def __init__(self, cells: int):
        self.cells = torch.zeros(cells, device="cuda")
        self.graphs = []
        for axis in range(3):
            graph = torch.cuda.CUDAGraph()
            dist.all_reduce(self.cells)
            with torch.cuda.graph(graph):
                dist.all_reduce(self.cells)
            self.graphs.append(graph)

    def run(self):
        for graph in self.graphs:
            graph.replay()


def with_halo(cells: int, group):
    halo = Halo(cells)
    halo.run()
    dist.destroy_process_group(group)  # expect: CG810
    dist.destroy_process_group()  # graphlint: ignore[CG810] -- the process is killed afterwards anyway
