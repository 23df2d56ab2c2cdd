"""Drawn from the delayed scaling of NVIDIA/TransformerEngine (#575, #1723).

Fix: the rolled history is copied back into the buffer that the graph reads.
"""

from __future__ import annotations

import torch
from torch import nn

E4M3_MAX = 448.0


class Quantizer:
    """Scale from the largest of the last maxima, as in delayed scaling."""

    def __init__(self, history: int = 16, margin: int = 0) -> None:
        self.history = torch.zeros(history, device="cuda")
        self.scale = torch.ones((), device="cuda")
        self.margin = margin

    def observe(self, x: torch.Tensor) -> None:
        self.history.copy_(torch.roll(self.history, 1, 0))
        self.history[0].copy_(x.detach().abs().amax())
        amax = self.history.amax()
        scale = E4M3_MAX / amax / (2**self.margin)
        self.scale.copy_(torch.where(amax > 0.0, scale, self.scale))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        scaled = (x * self.scale).clamp(-E4M3_MAX, E4M3_MAX)
        quantized = scaled.to(torch.float8_e4m3fn).to(x.dtype) / self.scale
        self.observe(x)
        return x + (quantized - x).detach()


class ScaledLinear(nn.Linear):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features, device="cuda")
        self.quantize_input = Quantizer()
        self.quantize_weight = Quantizer()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(self.quantize_input(x), self.quantize_weight(self.weight), self.bias)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, device="cuda")
        self.up = ScaledLinear(width, 4 * width)
        self.down = ScaledLinear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Trainer:
    def __init__(self, width: int = 256, depth: int = 4, batch: int = 32) -> None:
        self.net = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=3e-4, capturable=True)
        self.x = torch.zeros(batch, width, device="cuda")
        self.y = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def iteration(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.net(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(4):
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.iteration()

    def fit(self, loader) -> None:
        self.capture()
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
