"""After a sampler that hashes the seed of a request with the position of the token.

Fixed form: the seed is in a tensor that is filled before the replays of a request.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass
class SamplingRequest:
    seed: int
    prompt: torch.Tensor
    produced: list[int] = field(default_factory=list)


def uniform_noise(shape, seed, position: torch.Tensor) -> torch.Tensor:
    index = torch.arange(shape[-1], device=position.device)
    mixed = (index * 2654435761 + position[:, None] * 40503 + seed) & 0xFFFFFF
    mixed = (mixed ^ (mixed >> 7)) * 48271 & 0xFFFFFF
    return (mixed.float() + 0.5) / 16777216.0


class SeededSampler:
    def __init__(self, vocab: int):
        self.vocab = vocab
        self.seed = torch.zeros(1, 1, dtype=torch.long, device="cuda")

    def begin(self, request: SamplingRequest) -> None:
        self.seed.fill_(request.seed)

    def __call__(self, logits: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        noise = uniform_noise(logits.shape, self.seed, position)
        gumbel = -torch.log(-torch.log(noise))
        return (logits + gumbel).argmax(-1)


class OneSequenceDecoder:
    def __init__(self, model, vocab: int):
        self.model = model
        self.sampler = SeededSampler(vocab)
        self.token = torch.zeros(1, dtype=torch.long, device="cuda")
        self.position = torch.zeros(1, dtype=torch.long, device="cuda")
        self._graph = None

    def _step(self) -> None:
        logits = self.model(self.token, self.position)
        self.token.copy_(self.sampler(logits, self.position))
        self.position.add_(1)

    @property
    def graph(self) -> torch.cuda.CUDAGraph:
        if self._graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    self._step()
            torch.cuda.current_stream().wait_stream(side)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._step()
        return self._graph

    @torch.inference_mode()
    def generate(self, request: SamplingRequest, limit: int) -> list[int]:
        self.sampler.begin(request)
        graph = self.graph
        self.token.copy_(request.prompt[-1:])
        self.position.fill_(request.prompt.shape[0])
        for _ in range(limit):
            graph.replay()
            request.produced.append(self.token.item())
        return request.produced
