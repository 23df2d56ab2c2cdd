"""Drawn from memory savers for long sequences that wrap layers in `save_on_cpu`.

Symptom: what backward needs goes to pageable host memory while the step is captured.
"""

import contextlib

import torch
from torch import nn


class Saver:
    def __init__(self, kind: str):
        self.kind = kind

    def context(self):
        if self.kind == "host":
            return torch.autograd.graph.save_on_cpu()  # ALT: pageable-copy, sync-in-capture
        return contextlib.nullcontext()


class Stack(nn.Module):
    def __init__(self, width: int, depth: int, saver: Saver):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.saver = saver

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.saver.context():  # HAZARD: pageable-copy, sync-in-capture
            for layer in self.layers:
                x = torch.nn.functional.gelu(layer(x))
        return x


def train(width: int, depth: int, loader) -> float:
    net = Stack(width, depth, Saver("host")).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, capturable=True)
    x = torch.zeros(8, width, device="cuda")

    def step() -> torch.Tensor:
        opt.zero_grad(set_to_none=True)
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for batch in loader:
        x.copy_(batch)
        graph.replay()
    return loss.item()
