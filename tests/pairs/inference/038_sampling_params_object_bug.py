"""Symptom: the batch's sampling parameters are an object that is replaced for each request; the
captured sampler bakes its numbers.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class SamplingParams:
    temperature: float = 1.0
    min_p: float = 0.0


class Sampler:
    def __init__(self, batch: int, vocab: int):
        self.params = SamplingParams()
        self.logits = torch.zeros(batch, vocab, device="cuda")
        self.noise = torch.ones(batch, vocab, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _pick(self) -> torch.Tensor:
        probs = (self.logits / self.params.temperature).softmax(-1)  # HAZARD: frozen-scalar
        floor = probs.amax(-1, keepdim=True) * self.params.min_p  # HAZARD: frozen-scalar
        return (probs.masked_fill(probs < floor, 0.0) / self.noise).argmax(-1)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._pick()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self._pick()

    def use(self, params: SamplingParams) -> None:
        self.params = params  # ALT: frozen-scalar

    def sample(self, logits: torch.Tensor) -> list[int]:
        self.logits.copy_(logits)
        self.noise.exponential_()
        self.graph.replay()
        return self.tokens.tolist()


def answer(sampler: Sampler, requests: list[tuple[torch.Tensor, SamplingParams]]) -> list[list[int]]:
    results = []
    for logits, params in requests:
        sampler.use(params)
        results.append(sampler.sample(logits))
    return results
