"""Source: pytorch/pytorch#91970 (comment), 2noise/ChatTTS#812

Symptom: the sampling strategy draws from torch.distributions.Categorical, whose constructor checks
the probabilities on the host; capturing the decode step fails.
"""

from collections.abc import Callable

import torch
import torch.nn as nn

STRATEGIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}


def strategy(name: str):
    def register(fn):
        STRATEGIES[name] = fn
        return fn

    return register


@strategy("greedy")
def greedy(logits: torch.Tensor) -> torch.Tensor:
    return logits.argmax(dim=-1)


@strategy("multinomial")
def draw(logits: torch.Tensor) -> torch.Tensor:
    dist = torch.distributions.Categorical(logits=logits)  # HAZARD: sync-in-capture
    return dist.sample()


class CodeDecoder(nn.Module):
    def __init__(self, width: int, codes: int, sampling: str = "multinomial"):
        super().__init__()
        self.embed = nn.Embedding(codes, width)
        self.out = nn.Linear(width, codes)
        self.sample = STRATEGIES[sampling]

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        return self.sample(self.out(self.embed(codes)))


def record(decoder: CodeDecoder, batch: int):
    decoder = decoder.cuda().eval()
    codes = torch.zeros(batch, dtype=torch.long, device="cuda")
    with torch.inference_mode():
        for _ in range(3):
            decoder(codes)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            drawn = decoder(codes)
    return graph, codes, drawn


def synthesize(decoder: CodeDecoder, batch: int, steps: int) -> torch.Tensor:
    graph, codes, drawn = record(decoder, batch)
    frames = []
    for _ in range(steps):
        graph.replay()
        frames.append(drawn.clone())
        codes.copy_(drawn)
    return torch.stack(frames)
