"""Source: huggingface/text-generation-inference#1540, turboderp/exllamav2#233 (min-p)

Symptom: the sampler matches on the configured mode; its min-p case reads the largest probability on
the host, so engines with that mode cannot record their step.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class SamplingConfig:
    mode: str = "min_p"
    min_p: float = 0.05
    top_k: int = 50


def filter_probs(probs: torch.Tensor, config: SamplingConfig) -> torch.Tensor:
    match config.mode:
        case "greedy":
            return probs
        case "min_p":
            threshold = probs.max().item() * config.min_p  # HAZARD: sync-in-capture
            return probs.masked_fill(probs < threshold, 0.0)
        case "top_k":
            kept = probs.topk(config.top_k, dim=-1)
            return torch.zeros_like(probs).scatter(-1, kept.indices, kept.values)
        case other:
            raise ValueError(f"unknown sampling mode {other!r}")


class SamplingStep(nn.Module):
    def __init__(self, head: nn.Linear, config: SamplingConfig):
        super().__init__()
        self.head, self.config = head, config

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        probs = filter_probs(self.head(hidden).softmax(dim=-1), self.config)
        return (probs / torch.empty_like(probs).exponential_(1)).argmax(dim=-1)


class SamplingEngine:
    def __init__(self, head: nn.Linear, batch: int, config: SamplingConfig = SamplingConfig()):
        self.step = SamplingStep(head.cuda(), config)
        self.hidden = torch.zeros(batch, head.in_features, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.step(self.hidden)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.step(self.hidden)

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        self.hidden.copy_(hidden)
        self.graph.replay()
        return self.tokens.clone()
