"""Symptom: guidance leaves out layers at chosen steps; whether the current step is one of them is asked of a
device tensor inside the captured transformer.
"""

import torch
import torch.nn as nn


class SkipPlan:
    def __init__(self, layers: set[int], steps: list[int]):
        self.layers, self.steps = layers, steps

    def leaves_out(self, layer: int, step: torch.Tensor) -> bool:
        return layer in self.layers and step in self.steps  # HAZARD: host-branch-on-device


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm, self.lin = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.lin(self.norm(x))


class SkippingTransformer(nn.Module):
    def __init__(self, width: int, depth: int, plan: SkipPlan | None = None):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.plan = plan

    def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        for i, block in enumerate(self.blocks):
            if self.plan is not None and self.plan.leaves_out(i, step):
                continue
            x = block(x)
        return x


class VideoDenoiser:
    def __init__(self, width: int, depth: int, tokens: int, skip: tuple[int, ...] = (3, 4)):
        plan = SkipPlan(set(skip), [5, 6, 7])
        self.net = SkippingTransformer(width, depth, plan).cuda().eval()
        self.x = torch.zeros(tokens, width, device="cuda")
        self.step = torch.zeros((), dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.net(self.x, self.step)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x, self.step)

    def __call__(self, x: torch.Tensor, step: int) -> torch.Tensor:
        self.x.copy_(x)
        self.step.fill_(step)
        self.graph.replay()
        return self.y.clone()
