"""Drawn from talkers and code predictors (one stage is graphed on its own, then the whole is).

Symptom: the predictor captures itself on first use and replays from then on. The talker's capture
contains the predictor's replay.
"""

import torch
import torch.nn as nn


class SelfGraphed(nn.Module):
    def __init__(self, body: nn.Module, rows: int, width: int, graphed: bool = True):
        super().__init__()
        self.body, self.graphed = body, graphed
        self.x = torch.zeros(rows, width, device="cuda")
        self.graph = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.graphed:
            return self.body(x)
        if self.graph is None:
            for _ in range(2):
                self.body(self.x)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.body(self.x)
        self.x.copy_(x)
        self.graph.replay()  # HAZARD: other
        return self.y


class Talker:
    def __init__(self, rows: int, width: int):
        self.embed = nn.Linear(width, width, device="cuda")
        body = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)).cuda()
        self.predictor = SelfGraphed(body, rows, width)
        self.x = torch.zeros(rows, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        return self.predictor(torch.tanh(self.embed(self.x)))

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._step()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._step()

    @torch.inference_mode()
    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
