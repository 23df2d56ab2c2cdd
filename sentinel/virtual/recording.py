"""Work that is not done now: predict what an operation returns, give that memory, and make a step of it."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.errors import refuse
from graphlint.sentinel.virtual.operations import Traits
from graphlint.sentinel.virtual.rng import Philox, Seeded, mixed
from graphlint.sentinel.virtual.tape import Operation, Step, Tensors, map_tensors, slots, store
from graphlint.sentinel.virtual.tensors import META, is_virtual, ownerless, ownerless_storage, place, spoil
from graphlint.sentinel.virtual.transfers import issue

_LOOK_AT_STORAGES = {
    "as_strided_copy",
    "as_strided_scatter",
    "diagonal_scatter",
    "select_scatter",
    "slice_scatter",
}


class Draw(Step):
    """An operation with random numbers: where they start is known at replay."""

    __slots__ = ("_args", "_base", "_offset", "_philox", "_results", "_seeded")

    def __init__(
        self,
        seeded: Seeded,
        args: Any,
        results: Tensors,
        philox: Philox,
        offset: int,
        base: tuple[int, int] | None,
    ) -> None:
        self._seeded, self._args, self._results = seeded, args, results
        self._philox, self._offset, self._base = philox, offset, base

    def run(self) -> None:
        seed, start = self._base or self._philox.replaying
        returned = self._seeded(mixed(seed, start + self._offset), self._args)
        if self._results:
            store(returned, self._results)


def record(traits: Traits, function: Any, args: Any, kwargs: Any) -> Any:
    """Issue the operation as a step; its results are memory that the step will fill."""
    fresh = _results(traits, function, args, kwargs)
    alias = ownerless_storage if traits.name in _LOOK_AT_STORAGES else ownerless
    held_args, held_kwargs = map_tensors(alias, args), map_tensors(alias, kwargs)
    results = _held(fresh)
    issue(Operation(function, held_args, held_kwargs, results if fresh is not None else None))
    return assemble(traits, function, args, kwargs, fresh)


def record_draw(
    traits: Traits, function: Any, args: Any, kwargs: Any, seeded: Seeded, philox: Philox, offset: int
) -> Any:
    """The same for an operation that draws random numbers."""
    fresh = _results(traits, function, args, kwargs)
    base = None if device().current.capture is not None else (philox.seed, 0)
    results = _held(fresh)
    issue(Draw(seeded.holding(ownerless), map_tensors(ownerless, args), results, philox, offset, base))
    return assemble(traits, function, args, kwargs, fresh)


def _held(fresh: Any) -> Tensors:
    return (
        [ownerless(slot) if slot is not None else None for slot in slots(fresh)] if fresh is not None else []
    )


def assemble(traits: Traits, function: Any, args: Any, kwargs: Any, fresh: Any) -> Any:
    """What the caller gets: the arguments that were written, and the new tensors."""
    if not traits.writes:
        return fresh
    written = [_argument(function, at, args, kwargs) for at in traits.returned if at is not None]
    if len(written) == len(traits.returned):
        return None if not written else written[0] if len(written) == 1 else tuple(written)
    new = list(fresh) if isinstance(fresh, (tuple, list)) else [fresh]
    new = new[len(new) - (len(traits.returned) - len(written)) :]
    return tuple(new) if len(new) > 1 else new[0]


def _argument(function: Any, at: int, args: Any, kwargs: Any) -> Any:
    return args[at] if at < len(args) else kwargs[function._schema.arguments[at].name]


def _results(traits: Traits, function: Any, args: Any, kwargs: Any) -> Any:
    if traits.writes and None not in traits.returned:
        return None
    return map_tensors(_poisoned, predict(function, args, kwargs))


def _poisoned(like: torch.Tensor) -> torch.Tensor:
    placed = place(like)
    if device().current.capture is not None:  # in late order queued work may still read what lay there
        spoil(placed)
    return placed


def predict(function: Any, args: Any, kwargs: Any) -> Any:
    """Tensors of the shapes that the operation returns, computed without its values."""
    if "generator" in kwargs:
        kwargs = kwargs | {"generator": None}
    try:
        meta_args, meta_kwargs = map_tensors(_shape, args), map_tensors(_shape, kwargs)
        if "device" in meta_kwargs:
            meta_kwargs["device"] = META
        return function(*meta_args, **meta_kwargs)
    except (NotImplementedError, RuntimeError, TypeError):
        pass  # there are no shapes without values for this one
    try:
        return function(*map_tensors(_blank, args), **map_tensors(_blank, kwargs))
    except NotImplementedError as error:
        refuse_if_missing(function, error)
        raise


def refuse_if_missing(function: Any, error: NotImplementedError) -> None:
    """Say so by name if an operation of the device is none of the CPU."""
    if "Could not run 'aten::" in str(error):
        refuse(f"{function._schema.name}: torch has no implementation of it for the CPU")


def _shape(tensor: torch.Tensor) -> torch.Tensor:
    if not is_virtual(tensor) and not tensor.dim():
        return tensor
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=META)


def _blank(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout != torch.strided:
        return tensor.detach().clone()
    if not is_virtual(tensor):
        return tensor
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype).zero_()
