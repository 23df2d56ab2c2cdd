"""Graphs whose inputs are made where they are first needed."""

import torch
from scratch import bias_of, zeros


def encode(net: torch.nn.Linear, frames):
    net(torch.zeros(8, 16, device="cuda"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        shared = zeros(8, 16)
        x = torch.empty(8, 16, device="cuda")  # expect: CG606
        mask = torch.ones_like(x)  # expect: CG606
        out = net(x * mask) + shared
    for frame in frames:
        x.copy_(frame)
        shared.copy_(frame)
        mask[:4] = frame
        graph.replay()
    return out.clone()


def encode_rows(net: torch.nn.Linear, frames):
    outside = torch.zeros(8, 16, device="cuda")  # ok: CG606
    net(outside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rows = outside.new_zeros(8, 16)  # expect: CG606
        kept = torch.zeros(8, 16, device="cuda")  # graphlint: ignore[CG606] -- filled before it is read
        scratch = torch.zeros(8, 16, device="cuda")  # ok: CG606
        view = outside.view(16, 8)  # ok: CG606
        bias = bias_of(outside)
        result = torch.zeros(8, 16, device="cuda")  # ok: CG606
        result.copy_(net(outside + rows + scratch + bias) + kept)
        flat = torch.relu(view)
    for index, frame in enumerate(frames):
        outside.copy_(frame)
        rows[index] = frame
        kept.copy_(frame)
        view.copy_(frame)
        graph.replay()
        result.mul_(0.5)  # ok: CG606
    return result.clone(), flat.clone()


def encode_late(net: torch.nn.Linear, frame: torch.Tensor):
    net(frame)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        late = torch.full((8, 16), 0.0, device="cuda")  # expect: CG606
        first = torch.zeros(8, 16, device="cuda")  # expect: CG606
        hidden = net(late) + torch.sigmoid(first)
    late.copy_(frame)
    first.copy_(frame, non_blocking=True)
    graph.replay()
    return hidden.clone()
