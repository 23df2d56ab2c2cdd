"""What a replay and an eager run made, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from graphlint.sentinel.trials.writes import unwatched

_DEEPEST = 4  # levels of containers that a result is looked for in
_NOISE = 8  # times what two eager runs differ by
_ROUNDING = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


@dataclass(frozen=True, slots=True)
class Difference:
    """One output or written tensor in which the graph and eager Python disagree."""

    what: str
    off: float
    elements: int
    total: int
    first: tuple[int, ...]
    rows: tuple[int, ...]

    def sentence(self) -> str:
        """How far off, and where first."""
        where = f"{self.elements} of {self.total} elements"
        at = f", first at {list(self.first)}" if self.first else ""
        return f"{where} differ by up to {self.off:.3g}{at}"


def snapshot(tensor: torch.Tensor) -> torch.Tensor:
    """A copy that no mode sees."""
    with unwatched():
        return tensor.detach().clone()


def differing(replayed: torch.Tensor, eager: torch.Tensor) -> bool:
    """Whether they are not equal bit for bit (NaN equals NaN)."""
    with unwatched():
        return bool(_mask(replayed, eager, 0.0).any())


def distance(first: torch.Tensor, second: torch.Tensor) -> float:
    """The largest difference between two runs of the same."""
    if first.shape != second.shape or not first.numel():
        return 0.0
    with unwatched():
        gap = (_wide(first) - _wide(second)).abs()
        return float(gap.nan_to_num(0.0, 0.0, 0.0).max())


def difference(what: str, replayed: torch.Tensor, eager: torch.Tensor, noise: float) -> Difference | None:
    """How two results differ beyond rounding and `noise`, if they do."""
    with unwatched():
        mask = _mask(replayed, eager, _NOISE * noise + _rounding(replayed, eager))
        if not bool(mask.any()):
            return None
        places = mask.nonzero()
        first = tuple(int(number) for number in places[0])
        rows = tuple(sorted({int(row) for row in places[:4096, 0]}))[:8] if replayed.dim() else ()
        off = float((_wide(replayed) - _wide(eager)).abs().nan_to_num(float("inf")).max())
        return Difference(what, off, len(places), replayed.numel(), first, rows)


def _mask(replayed: torch.Tensor, eager: torch.Tensor, allowed: float) -> torch.Tensor:
    if not (replayed.is_floating_point() or replayed.is_complex()):
        return replayed != eager
    both_nan = replayed.isnan() & eager.isnan()
    near = (replayed == eager) | both_nan
    if allowed:
        near = near | ((_wide(replayed) - _wide(eager)).abs() <= allowed)
    return ~near


def _rounding(replayed: torch.Tensor, eager: torch.Tensor) -> float:
    kind = replayed.dtype
    if not replayed.is_floating_point():
        return 0.0
    size = torch.stack(
        [
            _wide(replayed).abs().nan_to_num(0.0, 0.0, 0.0).max(),
            _wide(eager).abs().nan_to_num(0.0, 0.0, 0.0).max(),
        ]
    )
    return float(size.min()) * _ROUNDING.get(kind, 0.1)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_complex():
        return torch.view_as_real(tensor).double()
    return tensor.double()


def tensors_in(path: str, value: Any, depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a value consists of, each with how the program would write it."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from tensors_in(f"{path}[{at}]", item, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_in(f"{path}[{key!r}]", item, depth + 1)
    elif depth < _DEEPEST and hasattr(value, "__dict__") and not isinstance(value, (type, torch.nn.Module)):
        for name, item in vars(value).items():
            yield from tensors_in(f"{path}.{name}", item, depth + 1)
