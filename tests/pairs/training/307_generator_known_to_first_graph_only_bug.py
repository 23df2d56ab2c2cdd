"""Drawn from tensor parallel dropout (generators for each region, as in Megatron's tracker of random states).

Symptom: dropout draws from a generator of its own. It is registered with the graph of the first length only;
the capture for the next length fails when the offset of the generator is increased.
"""

from __future__ import annotations

import torch
from torch import nn


class RegionDropout(nn.Module):
    def __init__(self, rate: float, generator: torch.Generator) -> None:
        super().__init__()
        self.keep = 1.0 - rate
        self.generator = generator

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x
        mask = torch.rand(x.shape, device=x.device, generator=self.generator)  # HAZARD: rng-unregistered
        return x * (mask < self.keep) / self.keep


class Encoder(nn.Module):
    def __init__(self, vocab: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.Linear(width, width)
        self.drop = RegionDropout(0.1, generator)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(tokens)
        hidden = hidden + self.drop(torch.relu(self.mix(hidden)))
        return self.head(hidden)


class LengthGraphs:
    """One graph of forward, backward and update for each sequence length of the curriculum."""

    def __init__(self, vocab: int, width: int, lengths: tuple[int, ...], seed: int) -> None:
        self.generator = torch.Generator(device="cuda")
        self.generator.manual_seed(seed)
        self.net = Encoder(vocab, width, self.generator).cuda()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3, capturable=True)
        self.tokens = {n: torch.zeros(8, n, dtype=torch.long, device="cuda") for n in lengths}
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.losses: dict[int, torch.Tensor] = {}

    def _step(self, tokens: torch.Tensor) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        logits = self.net(tokens)
        loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        self.opt.step()
        return loss

    def _warm(self, tokens: torch.Tensor) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step(tokens)
        torch.cuda.current_stream().wait_stream(side)

    def capture(self) -> None:
        pool = None
        for length in sorted(self.tokens, reverse=True):
            self._warm(self.tokens[length])
            graph = torch.cuda.CUDAGraph()
            if not self.graphs:
                graph.register_generator_state(self.generator)
            with torch.cuda.graph(graph, pool=pool):  # ALT: rng-unregistered
                self.losses[length] = self._step(self.tokens[length])
            pool = graph.pool()
            self.graphs[length] = graph

    def step(self, batch: torch.Tensor) -> float:
        length = batch.shape[1]
        self.tokens[length].copy_(batch)
        self.graphs[length].replay()
        return self.losses[length].item()
