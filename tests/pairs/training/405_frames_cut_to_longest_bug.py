"""Drawn from speech recipes that shorten a padded batch to its longest entry.

Symptom: the spectrogram is cut to the longest utterance of the batch; the length is a value on the device, and a
slice bound has to be a Python number.
"""

from __future__ import annotations

import torch
from torch import nn


class Augment(nn.Module):
    """Masks random bands of frequencies, on the device."""

    def __init__(self, bins: int, widest: int) -> None:
        super().__init__()
        self.widest = widest
        self.register_buffer("bins", torch.arange(bins))

    def forward(self, spec: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return spec
        start = torch.rand(spec.shape[0], 1, device=spec.device) * (self.bins.numel() - self.widest)
        inside = (self.bins >= start) & (self.bins < start + self.widest)
        return spec.masked_fill(inside.unsqueeze(1), 0.0)


class FrameModel(nn.Module):
    def __init__(self, bins: int, width: int, units: int) -> None:
        super().__init__()
        self.augment = Augment(bins, widest=8)
        self.inp = nn.Linear(bins, width)
        self.conv = nn.Conv1d(width, width, 5, padding=2)
        self.out = nn.Linear(width, units)

    def forward(self, spec: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        spec = spec[:, : lengths.max()]  # HAZARD: implicit-sync
        x = torch.relu(self.inp(self.augment(spec)))
        x = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        frames = torch.arange(x.shape[1], device=x.device)
        x = x * (frames < lengths.unsqueeze(1)).unsqueeze(-1)
        return self.out(x.sum(1) / lengths.unsqueeze(1))


class Recipe:
    def __init__(self, batch: int = 16, frames: int = 800, bins: int = 80, units: int = 42) -> None:
        self.model = FrameModel(bins, 256, units).cuda().train()
        self.opt = torch.optim.Adam(
            self.model.parameters(), lr=torch.tensor(1e-3, device="cuda"), capturable=True
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda step: min(1.0, (step + 1) / 1000))
        self.static = {
            "spec": torch.zeros(batch, frames, bins, device="cuda"),
            "lengths": torch.full((batch,), frames, device="cuda"),
            "labels": torch.zeros(batch, dtype=torch.long, device="cuda"),
        }
        self.graph: torch.cuda.CUDAGraph | None = None

    def _step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        logits = self.model(self.static["spec"], self.static["lengths"])
        loss = nn.functional.cross_entropy(logits, self.static["labels"])
        loss.backward()
        self.opt.step()
        return loss

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def fit_batch(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        for name, value in batch.items():
            self.static[name].copy_(value, non_blocking=True)
        if self.graph is None:
            self._capture()
        self.graph.replay()
        self.schedule.step()
        return self.loss.clone()
