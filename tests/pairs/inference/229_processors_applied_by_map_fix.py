"""Another shape of forbidden tokens: processors come from a registry of factories and are applied by `reduce`.

Fixed form: the factory makes the tensor once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import torch
import torch.nn as nn

Processor = Callable[[torch.Tensor], torch.Tensor]


def forbid(tokens: list[int]) -> Processor:
    index = torch.tensor(tokens, device="cuda")

    def apply(logits: torch.Tensor) -> torch.Tensor:
        return logits.index_fill(-1, index, float("-inf"))

    return apply


def cap(value: float) -> Processor:
    return lambda logits: torch.tanh(logits / value) * value


FACTORIES: dict[str, Callable[..., Processor]] = {"forbid": forbid, "cap": cap}


class Head:
    def __init__(self, lm_head: nn.Linear, settings: dict[str, object], batch: int):
        self.lm_head = lm_head.cuda()
        self.processors = [FACTORIES[name](value) for name, value in settings.items()]
        self.hidden = torch.zeros(batch, lm_head.in_features, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _run(self) -> torch.Tensor:
        return reduce(lambda logits, fn: fn(logits), self.processors, self.lm_head(self.hidden))

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._run()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self._run()

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        self.hidden.copy_(hidden)
        self.graph.replay()
        return self.logits.clone()


def build(lm_head: nn.Linear) -> Head:
    return Head(lm_head, {"forbid": [0, 1, 2], "cap": 30.0}, batch=16)
