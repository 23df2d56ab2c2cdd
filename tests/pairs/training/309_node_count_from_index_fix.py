"""Drawn from message passing layers of graph networks (torch_geometric's `scatter` without `dim_size`).

Fix: the pooling layer says how many graphs there are in a padded batch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn


class GraphBatch(NamedTuple):
    x: torch.Tensor
    edge_index: torch.Tensor
    batch: torch.Tensor
    target: torch.Tensor


def maybe_num_nodes(index: torch.Tensor, num_nodes: int | None = None) -> int:
    if num_nodes is not None:
        return num_nodes
    return int(index.max()) + 1


def scatter_mean(src: torch.Tensor, index: torch.Tensor, num_nodes: int | None = None) -> torch.Tensor:
    size = maybe_num_nodes(index, num_nodes)
    total = src.new_zeros(size, src.shape[-1]).index_add_(0, index, src)
    count = src.new_zeros(size, 1).index_add_(0, index, torch.ones_like(src[:, :1]))
    return total / count.clamp(min=1)


class MeanConv(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(width, width)
        self.other = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        source, target = edge_index[0], edge_index[1]
        received = scatter_mean(x[source], target, num_nodes=x.shape[0])
        return torch.relu(self.own(x) + self.other(received))


class GraphNet(nn.Module):
    def __init__(self, width: int, layers: int, graphs: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList([MeanConv(width) for _ in range(layers)])
        self.head = nn.Linear(width, 1)
        self.graphs = graphs

    def forward(self, data: GraphBatch) -> torch.Tensor:
        x = data.x
        for conv in self.convs:
            x = conv(x, data.edge_index)
        pooled = scatter_mean(x, data.batch, self.graphs)
        return self.head(pooled).squeeze(-1)


def empty_batch(nodes: int, edges: int, graphs: int, width: int) -> GraphBatch:
    return GraphBatch(
        x=torch.zeros(nodes, width, device="cuda"),
        edge_index=torch.zeros(2, edges, dtype=torch.long, device="cuda"),
        batch=torch.zeros(nodes, dtype=torch.long, device="cuda"),
        target=torch.zeros(graphs, device="cuda"),
    )


def train(loader, nodes: int, edges: int, graphs: int, width: int = 64) -> None:
    static = empty_batch(nodes, edges, graphs, width)
    net = GraphNet(width, layers=3, graphs=graphs).cuda()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)

    def step() -> torch.Tensor:
        opt.zero_grad(set_to_none=True)
        loss = nn.functional.l1_loss(net(static), static.target)
        loss.backward()
        opt.step()
        return loss

    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(s)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for batch in loader:
        for ours, theirs in zip(static, batch):
            ours.copy_(theirs, non_blocking=True)
        graph.replay()
    print("last loss", loss.item())
