"""Padding that must not matter: the runner is called with two fillings of it and has to give the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from graphlint.sentinel.trials.compare import Difference, difference, snapshot, tensors_in
from graphlint.sentinel.trials.judged import Judging, trial
from graphlint.sentinel.trials.writes import unwatched
from graphlint.sentinel.watching.companions import aside

if TYPE_CHECKING:
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.wrapping import Call

_CALLS = 8  # of each runner that are tried


class Padding(Judging):
    """Fills the rows behind the real ones before calling the runner again, twice, each call undone."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(observer)
        self._tried: dict[str, int] = {}

    def has_returned(self, call: Call, result: Any) -> None:
        if call.real_rows is None or self.observer.mode == "watch" or not self.graphs:
            return
        padded = {
            name: tensor for name, tensor in call.inputs.items() if _has_padding(tensor, call.real_rows)
        }
        tried = self._tried.get(call.name, 0)
        if not padded or tried >= _CALLS:
            return
        self._tried[call.name] = tried + 1
        with aside():
            first = self._called(call, padded, 0)
            second = self._called(call, padded, 1)
            again = self._called(call, padded, 0)
        found = _differing(first, second, call.real_rows)
        if found is not None and _differing(first, again, call.real_rows) is None:
            names = ", ".join(f"`{name}`" for name in padded)
            message = (
                f"what is in {names} behind row {call.real_rows} changes {found.what} of `{call.name}`: "
                f"{found.sentence()}"
            )
            self.report("CG109", message, "padding", call)

    def _called(self, call: Call, padded: dict[str, torch.Tensor], filling: int) -> dict[str, torch.Tensor]:
        assert call.real_rows is not None
        roots = {"runner": call.runner, "args": call.args, "kwargs": call.kwargs}
        with trial(self.observer, self.graphs, roots):
            for tensor in padded.values():
                _fill(tensor, call.real_rows, filling)
            return {what: snapshot(one) for what, one in tensors_in("the result", call.again())}


def _has_padding(tensor: Any, rows: int) -> bool:
    return (
        isinstance(tensor, torch.Tensor)
        and tensor.is_cuda
        and tensor.dim() > 0
        and 0 < rows < tensor.shape[0]
    )


def _fill(tensor: torch.Tensor, rows: int, filling: int) -> None:
    """Values that are valid where they stand: real rows for whole numbers, which may be indices."""
    with unwatched():
        rest = tensor[rows:]
        if tensor.is_floating_point():
            rest.fill_(1.5 if filling else -0.75)
        elif filling and rows > 1:
            rest.copy_(tensor[rows - 1].expand_as(rest))
        elif filling:
            rest.zero_()
        else:
            rest.copy_(tensor[0].expand_as(rest))


def _differing(
    first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], rows: int
) -> Difference | None:
    for what, tensor in first.items():
        other = second.get(what)
        if other is None or other.shape != tensor.shape:
            continue
        if tensor.dim() and tensor.shape[0] >= rows:
            tensor, other = tensor[:rows], other[:rows]
        found = difference(what, tensor, other, 0.0)
        if found is not None:
            return found
    return None
