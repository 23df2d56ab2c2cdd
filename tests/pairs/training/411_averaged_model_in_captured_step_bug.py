"""Drawn from questions about `torch.optim.swa_utils` in captured training.

Symptom: the averaged model is updated inside the captured step; it asks whether it has averaged anything yet, and
its counter is a tensor on the device.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(8, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(8, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(y)))


class Denoiser(nn.Module):
    def __init__(self, channels: int, depth: int) -> None:
        super().__init__()
        self.inp = nn.Conv2d(3, channels, 3, padding=1)
        self.body = nn.Sequential(*[Residual(channels) for _ in range(depth)])
        self.out = nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        return self.out(self.body(self.inp(x) * level.view(-1, 1, 1, 1)))


class DiffusionTrainer:
    def __init__(self, size: int = 32, batch: int = 64) -> None:
        self.model = Denoiser(64, 4).cuda()
        self.average = AveragedModel(self.model, device="cuda", multi_avg_fn=get_ema_multi_avg_fn(0.999))
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=2e-4, capturable=True)
        self.images = torch.zeros(batch, 3, size, size, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        level = torch.rand(self.images.shape[0], device="cuda")
        noise = torch.randn_like(self.images)
        noisy = self.images + level.view(-1, 1, 1, 1) * noise
        loss = nn.functional.mse_loss(self.model(noisy, level), noise)
        loss.backward()
        self.opt.step()
        self.average.update_parameters(self.model)  # HAZARD: implicit-sync, host-branch-on-device
        return loss

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def fit(self, loader) -> AveragedModel:
        self.capture()
        for images in loader:
            self.images.copy_(images, non_blocking=True)
            self.graph.replay()
        return self.average
