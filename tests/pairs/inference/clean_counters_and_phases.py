"""Clean: counters, phases and moving averages are kept by the host around replays; what the graph needs of
them is written into device scalars.
"""

import torch
import torch.nn as nn


class Pace:
    def __init__(self, every: int):
        self.every, self.count, self.average = every, 0, 0.0

    def tick(self, seconds: float) -> bool:
        self.count += 1
        self.average += (seconds - self.average) / self.count
        return self.count % self.every == 0


class GainStage(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.register_buffer("gain", torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lin(x) * self.gain


class PacedRunner:
    def __init__(self, width: int, batch: int):
        self.stage, self.pace = GainStage(width).cuda(), Pace(10)
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.phase = "fast"

    @torch.no_grad()
    def capture(self) -> None:
        for _ in range(2):
            self.stage(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.stage(self.x)

    def run(self, x: torch.Tensor, seconds: float) -> torch.Tensor:
        if self.pace.tick(seconds):
            self.phase = "slow" if self.pace.average > 0.1 else "fast"
            self.stage.gain.fill_(0.5 if self.phase == "slow" else 1.0)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
