"""Fills the inputs in all the ways that there are, and replays."""

import torch
from buffers import Inputs


def serve(net: torch.nn.Linear, batches, count):
    inputs = Inputs(32)
    tail = torch.zeros(16, 64, device="cuda")
    mask = torch.zeros(8, 8, device="cuda")
    net(inputs.hidden)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = net(inputs.hidden) * inputs.lengths[:, None] * inputs.scale + tail.sum()
    for batch in batches:
        inputs.load(batch)
        inputs.load_as_counted(batch)
        inputs.load_first(torch.rand(40, 64, device="cuda"))
        inputs.load_all(batch)
        inputs.load_rows(batch, count)
        inputs.load_window(batch, count)
        inputs.estimate()
        inputs.number()
        inputs.spread()
        inputs.rescale(2)
        tail.copy_(batch[: tail.size(0)])  # expect: CG108
        tail.copy_(batch[: tail.shape[0]])  # graphlint: ignore[CG108] -- the rest is padding
        mask.copy_(torch.rand(1, 8, device="cuda"))  # ok: CG108
        graph.replay()
        yield out.clone()
