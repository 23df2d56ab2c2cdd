"""Seen in Comfy-Org/ComfyUI#15551.

Symptom: the model finds the runs of text tags in Python, for which it brings the tags to the host and
reads the noise level; a decorator captures the whole forward.
"""

import functools
import itertools
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Segment:
    kind: int
    start: int
    stop: int


def graphed(warmups: int = 2):
    """Methods decorated with it are captured on the first call for a shape and replayed afterwards."""

    def decorate(method):
        table = {}

        @functools.wraps(method)
        def call(self, x, tags):
            entry = table.get((id(self), x.shape))
            if entry is None:
                xs, ts = x.clone(), tags.clone()
                for _ in range(warmups):
                    method(self, xs, ts)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    out = method(self, xs, ts)
                entry = table[id(self), x.shape] = (graph, xs, ts, out)
            graph, xs, ts, out = entry
            xs.copy_(x)
            ts.copy_(tags)
            graph.replay()
            return out.clone()

        return call

    return decorate


def runs(tags: torch.Tensor) -> list[Segment]:
    found, start = [], 0
    for kind, group in itertools.groupby(tags):
        length = len(list(group))
        found.append(Segment(kind, start, start + length))
        start += length
    return found


class JointModel(nn.Module):
    def __init__(self, width: int, layout: list[int]):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.layout = runs(layout)

    @graphed(warmups=3)
    def forward(self, x: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        pieces = []
        for segment in self.layout:
            pieces.append(self.experts[segment.kind](x[:, segment.start : segment.stop]))
        return torch.cat(pieces, dim=1)


@torch.inference_mode()
def generate(width: int, layout: list[int], steps: int, x: torch.Tensor) -> torch.Tensor:
    model = JointModel(width, layout).cuda().eval()
    tags = torch.tensor(layout, device="cuda")
    for _ in range(steps):
        x = x + model(x, tags)
    return x
