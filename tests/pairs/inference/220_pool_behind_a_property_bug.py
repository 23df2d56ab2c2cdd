"""Another shape of a cache that is given back and made again: the tensor is behind a property of a base class.

Symptom: after the pause the property answers with new memory, and the graphs read the old.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class Pausable:
    def __init__(self, shape: tuple[int, int]):
        self._shape = shape
        self._tensor: torch.Tensor | None = None
        self.resume()

    @property
    def tensor(self) -> torch.Tensor:
        assert self._tensor is not None
        return self._tensor

    def pause(self) -> None:
        self._tensor = None  # ALT: stale-pointer, rebind-static-input

    def resume(self) -> None:
        self._tensor = torch.zeros(self._shape, device="cuda")  # HAZARD: stale-pointer, rebind-static-input


class ConvStates(Pausable):
    def __init__(self, slots: int, width: int):
        super().__init__((slots, width))
        self.scratch = slots - 1


class Mixer(nn.Module):
    def __init__(self, width: int, states: ConvStates):
        super().__init__()
        self.lin = nn.Linear(width, width, device="cuda")
        self.states = states

    def forward(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.lin(x) + self.states.tensor[slots])
        self.states.tensor.index_copy_(0, slots, h)
        return h


class Rollout:
    def __init__(self, mixer: Mixer, batch: int, width: int):
        self.mixer = mixer
        self.x = torch.zeros(batch, width, device="cuda")
        self.slots = torch.full((batch,), mixer.states.scratch, device="cuda")
        self.record()

    @torch.no_grad()
    def record(self) -> None:
        for _ in range(2):
            self.mixer(self.x, self.slots)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.mixer(self.x, self.slots)

    def __call__(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.slots.copy_(slots)
        self.graph.replay()
        return self.y.clone()


def train_and_roll(rollout: Rollout, phases) -> list[torch.Tensor]:
    results = []
    for phase in phases:
        rollout.mixer.states.pause()
        phase.optimise()
        rollout.mixer.states.resume()
        results += [rollout(x, slots) for x, slots in phase.batches]
    return results
