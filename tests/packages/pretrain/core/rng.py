from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from . import parallel_state

_MODEL_PARALLEL = "model-parallel"


class RNGTracker:
    """Random states by name; each is a generator of its own that graphs can register."""

    def __init__(self) -> None:
        self.states: dict[str, torch.Generator] = {}

    def reset(self) -> None:
        self.states = {}

    def add(self, name: str, seed: int) -> None:
        if name in self.states:
            raise ValueError(f"there is a state {name} already")
        state = torch.cuda.default_generators[torch.cuda.current_device()].clone_state()
        state.manual_seed(seed)
        self.states[name] = state

    @contextmanager
    def fork(self, name: str = _MODEL_PARALLEL) -> Iterator[None]:
        default = torch.cuda.default_generators[torch.cuda.current_device()]
        before = default.graphsafe_get_state()
        default.graphsafe_set_state(self.states[name])
        try:
            yield
        finally:
            self.states[name] = default.graphsafe_get_state()
            default.graphsafe_set_state(before)


_TRACKER = RNGTracker()


def get_tracker() -> RNGTracker:
    return _TRACKER


def all_states() -> list[torch.Generator]:
    return list(_TRACKER.states.values())


def seed_everything(seed: int) -> None:
    torch.manual_seed(seed)
    _TRACKER.reset()
    _TRACKER.add(_MODEL_PARALLEL, seed + 2718 + parallel_state.get_microbatch())
