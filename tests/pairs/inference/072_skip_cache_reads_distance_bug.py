"""Symptom: a step cache decides on the host whether the transformer may be skipped, from the relative
change of its first block; the distance is read inside the captured forward.
"""

from typing import Protocol

import torch
import torch.nn as nn


class StepPolicy(Protocol):
    def should_run(self, feature: torch.Tensor) -> bool: ...


class AlwaysRun:
    def should_run(self, feature: torch.Tensor) -> bool:
        return True


class RelativeChange:
    def __init__(self, threshold: float):
        self.threshold = threshold
        self.previous: torch.Tensor | None = None
        self.accumulated = 0.0

    def should_run(self, feature: torch.Tensor) -> bool:
        if self.previous is None:
            self.previous = feature.clone()
            return True
        change = (feature - self.previous).abs().mean() / self.previous.abs().mean()
        self.accumulated += change.cpu().item()  # HAZARD: sync-in-capture
        self.previous.copy_(feature)
        if self.accumulated < self.threshold:
            return False
        self.accumulated = 0.0
        return True


class CachedTransformer(nn.Module):
    def __init__(self, width: int, depth: int, policy: StepPolicy):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.rest = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))
        self.policy = policy
        self.register_buffer("residual", torch.zeros(1, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        feature = self.first(x)
        if not self.policy.should_run(feature):
            return feature + self.residual
        out = self.rest(feature)
        self.residual.copy_((out - feature).mean(0, keepdim=True))
        return out


def build_policy(threshold: float | None) -> StepPolicy:
    return AlwaysRun() if threshold is None else RelativeChange(threshold)


class Pipeline:
    def __init__(self, width: int, depth: int, batch: int, threshold: float | None = 0.1):
        self.net = CachedTransformer(width, depth, build_policy(threshold)).cuda().eval()
        self.latent = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self._record()

    @torch.inference_mode()
    def _record(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.net(self.latent)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.noise = self.net(self.latent)

    def __call__(self, latent: torch.Tensor, steps: int) -> torch.Tensor:
        self.latent.copy_(latent)
        for _ in range(steps):
            self.graph.replay()
            self.latent.sub_(self.noise, alpha=1.0 / steps)
        return self.latent.clone()
