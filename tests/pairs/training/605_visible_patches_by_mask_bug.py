"""Drawn from masked autoencoders that pick the visible patches with a boolean mask.

Symptom: `x[~mask]` asks the device how many patches there are, although the number is always the same; the capture
fails there.
"""

from __future__ import annotations

import torch
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, patch: int, width: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, stride=patch)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.proj(image).flatten(2).transpose(1, 2)


def random_masking(x: torch.Tensor, ratio: float) -> tuple[torch.Tensor, torch.Tensor]:
    batch, count, width = x.shape
    keep = int(count * (1 - ratio))
    order = torch.rand(batch, count, device=x.device).argsort(dim=1)
    mask = order.argsort(dim=1) >= keep
    visible = x[~mask].view(batch, keep, width)  # HAZARD: dynamic-shape
    return visible, mask


class MaskedAutoencoder(nn.Module):
    def __init__(self, image: int, patch: int, width: int, ratio: float = 0.75) -> None:
        super().__init__()
        self.patch, self.ratio = patch, ratio
        self.embed = PatchEmbed(patch, width)
        self.pos = nn.Parameter(torch.zeros(1, (image // patch) ** 2, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.decoder = nn.Linear(width, (image // patch) ** 2 * patch * patch * 3)

    def patches(self, image: torch.Tensor) -> torch.Tensor:
        p = self.patch
        b, c, h, w = image.shape
        x = image.reshape(b, c, h // p, p, w // p, p)
        return x.permute(0, 2, 4, 3, 5, 1).reshape(b, (h // p) * (w // p), p * p * c)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.embed(image) + self.pos
        visible, mask = random_masking(x, self.ratio)
        code = self.encoder(visible).mean(1)
        wanted = self.patches(image)
        guess = self.decoder(code).view_as(wanted)
        error = (guess - wanted).square().mean(-1)
        return (error * mask).sum() / mask.sum()


class Pretraining:
    def __init__(self, image: int = 64, batch: int = 128) -> None:
        self.model = MaskedAutoencoder(image, 8, 192).cuda()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1.5e-4, betas=(0.9, 0.95), capturable=True)
        self.image = torch.zeros(batch, 3, image, image, device="cuda")
        self.graph: torch.cuda.CUDAGraph | None = None

    def _update(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = self.model(self.image)
        loss.backward()
        self.opt.step()
        return loss

    def step(self, image: torch.Tensor) -> torch.Tensor:
        self.image.copy_(image)
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self._update()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self._update()
        self.graph.replay()
        return self.loss.clone()
