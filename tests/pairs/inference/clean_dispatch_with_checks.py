"""Clean: the debug checks are off for this model and the statistics hook is asked for between steps
only; both contain reads that would end a capture.
"""

import torch
import torch.nn as nn


class Options:
    def __init__(self, **given):
        self.check = given.pop("check", False)
        self.collect = given.pop("collect", True)


class Gate(nn.Module):
    def __init__(self, width: int, experts: int, options: Options):
        super().__init__()
        self.options = options
        self.gate = nn.Linear(width, experts)
        self.register_buffer("load", torch.zeros(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.gate(x).softmax(-1)
        if self.options.check and not torch.isfinite(scores).all():
            raise RuntimeError(f"bad scores: {scores}")
        if self.options.collect:
            self.load.add_(scores.sum(0))
        return scores

    def report(self) -> list[float]:
        shares = (self.load / self.load.sum()).tolist()
        self.load.zero_()
        return shares


class GateServer:
    def __init__(self, width: int, experts: int, batch: int):
        self.gate = Gate(width, experts, Options(collect=True)).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.steps = 0

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self.gate(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.scores = self.gate(self.x)
        self.gate.load.zero_()

    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        self.steps += 1
        if self.steps % 100 == 0:
            print("load", self.gate.report())
        return self.scores.clone()
