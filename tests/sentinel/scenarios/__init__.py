"""Programs that were measured on an H200 (torch 2.11), written again: what they see is compared with what was
seen there (docs/measured/scenarios.json). A function has the name of its scenario and returns the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

Order: TypeAlias = "Literal['early', 'lagging', 'late'] | int"
PROGRAMS: dict[str, tuple[Callable[[], Any], Order]] = {}


def scenario(order: Order = "early") -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Add a program, and the order of streams in which the GPU happened to run it."""

    def add(function: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS[function.__name__] = (function, order)
        return function

    return add


def first_words(error: BaseException | None) -> str:
    """Of an error what the measurement kept, as far as it tells errors apart."""
    return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def ones(*shape: int) -> Any:
    """A tensor of ones on the device."""
    import torch

    return torch.ones(*shape, device="cuda")


def full(value: float, *shape: int) -> Any:
    """A tensor of one value on the device."""
    import torch

    return torch.full(shape or (4,), value, device="cuda")
