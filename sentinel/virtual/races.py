"""Run a program in every order that matters: each pair of steps that no edge orders, both ways round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from graphlint.sentinel.virtual.context import virtual_cuda
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.streams import Order


@dataclass(frozen=True)
class Race:
    """What a program returned in the order of issue, and the streams that give something else when first."""

    returned: Any
    differing: dict[int, Any]

    @property
    def found(self) -> bool:
        return bool(self.differing)


def race(program: Callable[[], Any], **options: Any) -> Race:
    """Run a program once in the order of issue, and once with each of its streams first.

    The program returns what is to be compared: tensors, numbers, or lists, tuples and dictionaries of them.
    What it raises counts as returned. It must make everything it uses itself, since it runs several times;
    `options` are those of `virtual_cuda`.
    """
    returned, streams = _run(program, "early", options)
    others = {number: _run(program, number, options)[0] for number in streams}
    return Race(returned, {number: seen for number, seen in others.items() if not _same(seen, returned)})


def _run(program: Callable[[], Any], order: Order, options: Any) -> tuple[Any, list[int]]:
    with virtual_cuda(order=order, **options):
        try:
            returned = _on_host(program())
        except Exception as error:
            returned = f"{type(error).__name__}: {error}"
        return returned, sorted(number for number, stream in device().streams.items() if stream.used)


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {key: _on_host(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_on_host(item) for item in value]
    return value


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        alike = first.shape == second.shape and first.dtype == second.dtype
        return alike and bool(torch.allclose(first, second, rtol=0, atol=0, equal_nan=True))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)
