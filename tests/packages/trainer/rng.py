"""Random state of each kind of layer, by name."""

from __future__ import annotations

import torch


class RngTracker:
    def __init__(self) -> None:
        self.generators: dict[str, torch.Generator] = {}

    def add(self, name: str, seed: int) -> None:
        generator = torch.Generator(device="cuda")
        generator.manual_seed(seed)
        self.generators[name] = generator

    def get(self, name: str) -> torch.Generator:
        return self.generators[name]

    def register_all(self, graph: torch.cuda.CUDAGraph) -> None:
        for generator in self.generators.values():
            graph.register_generator_state(generator)


_TRACKER = RngTracker()


def get_rng_tracker() -> RngTracker:
    return _TRACKER
