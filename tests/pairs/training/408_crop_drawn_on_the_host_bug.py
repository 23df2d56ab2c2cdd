"""Drawn from video and audio recipes that crop inside the training step.

Symptom: all crops start at the same frame: the offset is drawn with a CPU tensor and becomes a number, and the
graph keeps the one that was drawn at the capture.
"""

from __future__ import annotations

import torch
from torch import nn


class RandomCrop(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        room = clip.shape[1] - self.size
        start = int(torch.randint(0, room + 1, (1,)))  # HAZARD: frozen-scalar, rng-unregistered, side-effect
        return clip[:, start : start + self.size]  # ALT: frozen-scalar, rng-unregistered, side-effect


class Jitter(nn.Module):
    def __init__(self, strength: float) -> None:
        super().__init__()
        self.strength = strength

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        gain = 1 + self.strength * (2 * torch.rand(clip.shape[0], 1, 1, device=clip.device) - 1)
        return clip * gain


class ContrastiveModel(nn.Module):
    def __init__(self, channels: int, width: int, size: int) -> None:
        super().__init__()
        self.augment = nn.Sequential(RandomCrop(size), Jitter(0.2))
        self.encoder = nn.GRU(channels, width, batch_first=True)
        self.project = nn.Linear(width, 64)

    def embed(self, clip: torch.Tensor) -> torch.Tensor:
        _, last = self.encoder(self.augment(clip))
        return nn.functional.normalize(self.project(last[-1]), dim=-1)

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        similarity = self.embed(clip) @ self.embed(clip).T / 0.1
        targets = torch.arange(clip.shape[0], device=clip.device)
        return nn.functional.cross_entropy(similarity, targets)


def train(loader, batch: int = 64, frames: int = 256, channels: int = 32) -> list[float]:
    model = ContrastiveModel(channels, 256, size=128).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
    clip = torch.zeros(batch, frames, channels, device="cuda")
    params = [p for p in model.parameters() if p.requires_grad]

    def update() -> torch.Tensor:
        for p in params:
            p.grad = None
        loss = model(clip)
        loss.backward()
        optimizer.step()
        return loss

    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(11):
            update()
    torch.cuda.current_stream().wait_stream(warm)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=warm):
        loss = update()
    curve = []
    for number, batch_of_clips in enumerate(loader):
        clip.copy_(batch_of_clips)
        graph.replay()
        if number % 10 == 0:
            curve.append(loss.item())
    return curve
