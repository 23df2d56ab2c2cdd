"""Drawn from pytorch/pytorch#169545 (gradient accumulation with mode="reduce-overhead").

Fixed: gradients live in buffers of their own that the compiled backward only adds to.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
import torch.nn as nn


class Tokenizer(nn.Module):
    def __init__(self, channels: int, dim: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, kernel_size=8, stride=8)
        self.mix = nn.TransformerEncoderLayer(dim, 4, batch_first=True)
        self.back = nn.ConvTranspose2d(dim, channels, kernel_size=8, stride=8)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        z = self.proj(frames)
        b, d, h, w = z.shape
        z = self.mix(z.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(b, d, h, w)
        return self.back(z)


def micro_batches(loader, accumulate: int):
    group = []
    for frames in loader:
        group.append(frames)
        if len(group) == accumulate:
            yield group
            group = []


def train(loader, *, steps: int, accumulate: int = 4, lr: float = 3e-4, amp: bool = True) -> nn.Module:
    model = Tokenizer(3, 128).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    compiled = torch.compile(model, mode="reduce-overhead", fullgraph=True)
    context = torch.autocast("cuda", dtype=torch.bfloat16) if amp else nullcontext()

    for step, group in zip(range(steps), micro_batches(loader, accumulate)):
        optimizer.zero_grad(set_to_none=False)
        running = torch.zeros((), device="cuda")
        for frames in group:
            torch.compiler.cudagraph_mark_step_begin()
            frames = frames.cuda(non_blocking=True)
            with context:
                loss = nn.functional.mse_loss(compiled(frames), frames) / accumulate
            loss.backward()
            running += loss.detach()
        optimizer.step()
        if step % 100 == 0:
            print(step, running.item())
    return model
