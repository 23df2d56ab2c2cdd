"""Another shape of sampling numbers in a graph: an immutable record of options, exchanged for each request.

Fixed form: the temperature is a tensor that is filled before the replay.
"""

from __future__ import annotations

import dataclasses

import torch
import torch.nn as nn


@dataclasses.dataclass(frozen=True)
class Options:
    temperature: float = 1.0
    min_p: float = 0.05


class State:
    options = Options()

    def __init__(self) -> None:
        self.temperature = torch.ones((), device="cuda")


def sample(logits: torch.Tensor, state: State) -> torch.Tensor:
    probs = (logits / state.temperature).softmax(-1)
    probs = probs.masked_fill(probs < state.options.min_p * probs.amax(-1, keepdim=True), 0.0)
    return (probs / torch.empty_like(probs).exponential_()).argmax(-1)


def build(head: nn.Module, batch: int, width: int):
    state = State()
    hidden = torch.zeros(batch, width, device="cuda")
    with torch.no_grad():
        for _ in range(2):
            sample(head(hidden), state)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tokens = sample(head(hidden), state)

    def step(new_hidden: torch.Tensor, temperature: float) -> list[int]:
        state.temperature.fill_(temperature)
        hidden.copy_(new_hidden)
        graph.replay()
        return tokens.tolist()

    return step
