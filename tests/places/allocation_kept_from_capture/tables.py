"""Tables that are made when somebody first asks."""

import functools

import torch

MASKS: dict[int, torch.Tensor] = {}


def mask(size: int) -> torch.Tensor:
    if size not in MASKS:
        MASKS[size] = torch.ones(size, size, device="cuda").tril()  # expect: CG603
    return MASKS[size]


@functools.lru_cache(maxsize=None)
def slopes(heads: int) -> torch.Tensor:
    return torch.arange(heads, device="cuda") * -0.5  # expect: CG603


@functools.lru_cache(maxsize=None)
def sizes(heads: int) -> list[int]:
    return [64] * heads  # ok: CG603


class Rotary:
    def __init__(self, width: int):
        self.width = width
        self.angles = None

    def __call__(self, x: torch.Tensor):
        if self.angles is None:
            self.angles = torch.arange(self.width, device="cuda") * 0.1  # expect: CG603
        return x * self.angles


class Prepared:
    def __init__(self, width: int):
        self.width = width
        self.angles = None
        self.prepare()

    def prepare(self):
        if self.angles is None:
            self.angles = torch.arange(self.width, device="cuda") * 0.1  # ok: CG603

    def __call__(self, x: torch.Tensor):
        self.prepare()
        return x * self.angles
