"""Another shape of sampling numbers in a graph: an immutable record of options, exchanged for each request.

Symptom: the recorded step divides by the temperature of the first options.
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


def sample(logits: torch.Tensor, state: State) -> torch.Tensor:
    probs = (logits / state.options.temperature).softmax(-1)  # HAZARD: frozen-scalar
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
        state.options = dataclasses.replace(
            state.options, temperature=temperature
        )  # HAZARD: frozen-scalar, rebind-static-input
        hidden.copy_(new_hidden)
        graph.replay()
        return tokens.tolist()

    return step
