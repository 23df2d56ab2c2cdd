"""Symptom: the sampling backend draws from a generator of its own inside the captured step; nobody tells
the graph about it, so the capture is refused (or every replay draws the same numbers).
"""

from abc import ABC, abstractmethod

import torch
import torch.nn as nn


class Sampling(ABC):
    @abstractmethod
    def sample(self, logits: torch.Tensor) -> torch.Tensor: ...


class GreedySampling(Sampling):
    def sample(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.argmax(-1)


class RandomSampling(Sampling):
    def __init__(self, seed: int):
        self.generator = torch.Generator(device="cuda")
        self.generator.manual_seed(seed)

    def sample(self, logits: torch.Tensor) -> torch.Tensor:
        probs = torch.softmax(logits, dim=-1)
        noise = torch.empty_like(probs).exponential_(generator=self.generator)  # HAZARD: rng-unregistered
        return (probs / noise).argmax(-1)


def make_sampling(name: str, seed: int) -> Sampling:
    return RandomSampling(seed) if name == "random" else GreedySampling()


class StepGraph:
    def __init__(self, model: nn.Module, sampling: Sampling, batch: int):
        self.model, self.sampling = model, sampling
        self.tokens = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        return self.sampling.sample(self.model(self.tokens))

    @torch.inference_mode()
    def create(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.next = self._step()

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        self.tokens.copy_(tokens)
        self.graph.replay()
        return self.next.clone()


def build_engine(model: nn.Module, batch: int, seed: int = 0) -> StepGraph:
    engine = StepGraph(model, make_sampling("random", seed), batch)
    engine.create()
    return engine
