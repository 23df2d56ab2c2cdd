"""Clean: a new generation of weights is copied into the old parameters where shapes agree; where they do not,
the runner is built anew. Host caches are cleared together with it.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class Runner:
    def __init__(self, net: nn.Module, batch: int, width: int):
        self.net = net.cuda().eval()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.inference_mode():
            for _ in range(2):
                self.net(self.x)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.net(self.x)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


class Deployment:
    def __init__(self, make, batch: int, width: int):
        self.make, self.batch, self.width = make, batch, width
        self.runner = Runner(make(width), batch, width)
        self.answers: dict[str, list[float]] = {}
        self.generation = 0

    def _fits(self, state: dict[str, torch.Tensor]) -> bool:
        own = self.runner.net.state_dict()
        return own.keys() == state.keys() and all(own[k].shape == v.shape for k, v in state.items())

    @torch.no_grad()
    def update(self, state: dict[str, torch.Tensor], width: int) -> None:
        if self._fits(state):
            for name, tensor in self.runner.net.state_dict().items():
                tensor.copy_(state[name])
        else:
            self.width = width
            net = self.make(width)
            net.load_state_dict(state)
            self.runner = Runner(net, self.batch, width)
        self.answers.clear()
        self.generation += 1

    def answer(self, key: str, x: torch.Tensor) -> list[float]:
        if key not in self.answers:
            self.answers[key] = self.runner(x).mean(0).tolist()
        return self.answers[key]
