"""Fixed form: the parameters are rows of device tensors that each request fills."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class SamplingParams:
    temperature: float = 1.0
    min_p: float = 0.0


class Sampler:
    def __init__(self, batch: int, vocab: int):
        self.temperature = torch.ones(batch, 1, device="cuda")
        self.min_p = torch.zeros(batch, 1, device="cuda")
        self.logits = torch.zeros(batch, vocab, device="cuda")
        self.noise = torch.ones(batch, vocab, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _pick(self) -> torch.Tensor:
        probs = (self.logits / self.temperature).softmax(-1)
        floor = probs.amax(-1, keepdim=True) * self.min_p
        return (probs.masked_fill(probs < floor, 0.0) / self.noise).argmax(-1)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._pick()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self._pick()

    def use(self, params: SamplingParams) -> None:
        self.temperature.fill_(params.temperature)
        self.min_p.fill_(params.min_p)

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
