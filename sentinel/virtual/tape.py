"""Steps: work that runs later, on memory it names by address and does not keep alive.

A capture records steps, a replay runs them, and in late order a stream's queue holds them. Nothing of the
program's Python takes part: a step is an operation, its scalars and aliases that own nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from graphlint.sentinel.virtual import errors

Tensors = Sequence[Any]


class Step:
    """Something a stream does. `stream` and `position` say where in which stream's order it stands."""

    __slots__ = ("position", "stream")

    stream: int
    position: int

    def run(self) -> None:
        raise NotImplementedError


class Call(Step):
    """A plain function, such as a Triton launch; `touches` is the memory that it may use."""

    __slots__ = ("_function", "touches")

    def __init__(self, function: Callable[[], object], touches: Tensors = ()) -> None:
        self._function, self.touches = function, touches

    def run(self) -> None:
        self._function()


class Operation(Step):
    """One dispatched operation; what it returns is copied into the memory given to it at recording."""

    __slots__ = ("args", "function", "kwargs", "results")

    def __init__(self, function: Any, args: Any, kwargs: Any, results: Tensors | None) -> None:
        self.function, self.args, self.kwargs, self.results = function, args, kwargs, results

    def run(self) -> None:
        try:
            returned = self.function(*self.args, **self.kwargs)
        except IndexError as error:  # a GPU notices an index out of range inside the kernel
            raise errors.cuda_error(errors.DEVICE_ASSERT) from error
        if self.results is not None:
            store(returned, self.results)


def store(returned: Any, results: Tensors) -> None:
    """Copy what an operation returned into the memory that was given to it; what was written in place comes
    first."""
    if isinstance(returned, torch.Tensor):
        results[0].copy_(returned)
        return
    values = slots(returned)
    for result, value in zip(results, values[len(values) - len(results) :]):
        if result is not None and value is not None:
            _put(result, value)


def _put(result: torch.Tensor, value: torch.Tensor) -> None:
    if result.layout == torch.strided:
        result.copy_(value)
        return
    result._indices().copy_(value._indices())
    result._values().copy_(value._values())


def slots(value: Any) -> list[torch.Tensor | None]:
    """The tensors of a result in order, with None where an optional one is absent."""
    if value is None or isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [slot for item in value for slot in slots(item)]
    return []


def flat_tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in an operation's arguments or results, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flat_tensors(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in flat_tensors(item)]
    return []


def map_tensors(function: Callable[[torch.Tensor], Any], value: Any) -> Any:
    """The same structure with every tensor replaced."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, list):
        return [map_tensors(function, item) for item in value]
    if isinstance(value, tuple):
        return tuple(map_tensors(function, item) for item in value)
    if isinstance(value, dict):
        return {key: map_tensors(function, item) for key, item in value.items()}
    return value


@contextmanager
def quiet() -> Iterator[None]:
    """Recorded work runs outside autograd and outside every mode, also on tensors of inference mode."""
    with torch.inference_mode(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield
