"""Symptom: a decorator made by a factory measures the layer with events and reads the time in the same
call.
"""

import functools

import torch
import torch.nn as nn

TIMES: dict[str, list[float]] = {}


def profiled(label: str, *, active: bool = True):
    def decorate(fn):
        if not active:
            return fn

        @functools.wraps(fn)
        def inner(self, *args):
            if torch.cuda.is_current_stream_capturing() and not self.measure:
                return fn(self, *args)
            before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            before.record()
            result = fn(self, *args)
            after.record()
            after.synchronize()  # HAZARD: sync-in-capture
            TIMES.setdefault(label, []).append(before.elapsed_time(after))  # ALT: sync-in-capture
            return result

        return inner

    return decorate


class Attention(nn.Module):
    measure = True

    def __init__(self, width: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    @profiled("attention")
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return torch.softmax(q @ k.t(), -1) @ v


class Capture:
    def __init__(self, width: int, batch: int):
        self.net = nn.Sequential(Attention(width), Attention(width)).cuda()
        self.x = torch.zeros(batch, width, device="cuda")

    @torch.inference_mode()
    def run(self):
        for _ in range(2):
            self.net(self.x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.net(self.x)
        return graph, y
