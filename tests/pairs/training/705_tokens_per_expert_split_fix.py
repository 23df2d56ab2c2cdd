"""Drawn from mixtures of experts that call each expert with its own tokens.

Fix: every expert computes all tokens and its gate weights them (the layer is small).
"""

from __future__ import annotations

import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(nn.functional.silu(self.up(x)))


class Router(nn.Module):
    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        probs = self.gate(x).softmax(-1)
        weight, choice = probs.max(-1)
        return weight, choice


class Mixture(nn.Module):
    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.router = Router(width, experts)
        self.experts = nn.ModuleList(Expert(width) for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, choice = self.router(x)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            out = out + expert(x) * (choice == number).unsqueeze(-1)
        return out * weight.unsqueeze(-1)


class SmallModel(nn.Module):
    def __init__(self, vocab: int, width: int, experts: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mixture = Mixture(width, experts)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens).flatten(0, 1)
        return self.head(x + self.mixture(x))


class Step:
    def __init__(self, vocab: int = 1000, width: int = 128, batch: int = 8, length: int = 64) -> None:
        self.model = SmallModel(vocab, width, experts=4).cuda()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.tokens = torch.zeros(batch, length + 1, dtype=torch.long, device="cuda")
        self.graphed: torch.cuda.CUDAGraph | None = None

    def _run(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        logits = self.model(self.tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits, self.tokens[:, 1:].flatten())
        loss.backward()
        self.opt.step()
        return loss

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        self.tokens.copy_(tokens)
        if self.graphed is None:
            s = torch.cuda.Stream()
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                for _ in range(3):
                    self._run()
            torch.cuda.current_stream().wait_stream(s)
            self.graphed = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphed):
                self.loss = self._run()
        self.graphed.replay()
        return self.loss.clone()
