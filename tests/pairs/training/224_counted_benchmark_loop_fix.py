"""A benchmark loops a fixed number of times, with the phases told by a counter; the outputs of all replays are
kept and stacked at the end."""

import torch
from torch import nn

WARMUP, TOTAL = 3, 100


def main(net: nn.Module, batches: list[torch.Tensor]):
    net = net.cuda()
    x = torch.zeros(8, 16, device="cuda")
    graph, kept = None, []
    step = 0
    while step < TOTAL:
        if step < WARMUP:
            net(x)
        elif graph is None:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = net(x)
        else:
            x.copy_(batches[step])
            graph.replay()
            kept.append(y.clone())
        step += 1
    return torch.stack(kept)
