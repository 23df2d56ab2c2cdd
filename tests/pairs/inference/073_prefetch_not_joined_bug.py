"""Symptom: weights of the next layer are fetched on a copy stream; the last layer fetches the first one
for the next pass, and nothing waits for that copy before the capture ends.
"""

import torch
import torch.nn as nn


class Prefetcher:
    def __init__(self, layers: nn.ModuleList):
        self.stream = torch.cuda.Stream()
        self.host = [layer.weight.detach().cpu().pin_memory() for layer in layers]
        self.device = [torch.empty_like(layer.weight, device="cuda") for layer in layers]
        self.ready = [torch.cuda.Event() for _ in layers]

    def fetch(self, i: int) -> None:
        i %= len(self.host)
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):  # HAZARD: stream-escape
            self.device[i].copy_(self.host[i], non_blocking=True)
            self.ready[i].record(self.stream)

    def wait(self, i: int) -> torch.Tensor:
        torch.cuda.current_stream().wait_event(self.ready[i])
        return self.device[i]


class OffloadedModel(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.prefetcher = Prefetcher(self.layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.prefetcher.fetch(0)
        for i in range(len(self.layers)):
            self.prefetcher.fetch(i + 1)
            x = torch.relu(x @ self.prefetcher.wait(i).t())
        return x


class OffloadRunner:
    def __init__(self, width: int, depth: int, batch: int):
        self.model = OffloadedModel(width, depth)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):  # ALT: stream-escape
            self.y = self.model(self.x)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
