"""Reads from tables; whoever makes a table has to keep it as long as the graph."""

import torch


def decayed(state: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return state * table[: state.shape[0], None]


def gathered(x: torch.Tensor, order: list[int]):
    index = torch.tensor(order, device="cuda")  # expect: CG103
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x.index_select(0, index)
    return graph, y
