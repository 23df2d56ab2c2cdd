"""A model with probes between its layers."""

import torch
from debugging import Probe
from torch import nn


class Probed(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.probe = Probe("hidden")

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        self.probe(hidden)
        out = self.second(hidden)
        text = str(out)  # expect: CG304
        assert out.shape == x.shape, f"{out} does not fit {x}"  # ok: CG304
        if out.dim() != 2:
            raise ValueError(f"unexpected output {out}")  # ok: CG304
        return out, len(text)


def record(width: int):
    model = Probed(width).cuda()
    x = torch.zeros(4, width, device="cuda")
    model(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out, _ = model(x)
    graph.replay()
    print(f"first row: {out[0]}")  # ok: CG304
    return graph, x, out
