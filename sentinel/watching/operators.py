"""What an operation does to its arguments, read once from its schema."""

from __future__ import annotations

from typing import Any

import torch

_OVERWRITES = {
    "copy_",
    "fill_",
    "zero_",
    "normal_",
    "uniform_",
    "random_",
    "bernoulli_",
    "exponential_",
    "geometric_",
    "_foreach_zero_",
    "_foreach_copy_",
}
_WAITS = {
    "_local_scalar_dense",
    "nonzero",
    "masked_select",
    "equal",
    "_unique2",
    "unique_dim",
    "unique_consecutive",
    "is_nonzero",
}


# What tells two tensors apart says nothing of one.
_COMPARES = {"sub", "sub_", "rsub", "div", "div_", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}


class Operator:
    """`view`: its results lie on the memory of its first argument. `written`: places of the arguments that it
    writes; `only_written`: those that it does not read. `waits`: the host waits for its result.
    `compares`: it says how far its first two arguments are apart."""

    __slots__ = ("compares", "kind", "only_written", "view", "waits", "written")

    def __init__(self, function: Any) -> None:
        schema = function._schema
        self.kind = schema.name.partition("::")[2]
        written = [
            (at, argument.name)
            for at, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        aliased = any(argument.alias_info is not None for argument in schema.arguments)
        self.view = aliased and not written
        self.written = {key for pair in written for key in pair}
        plain = self.kind in _OVERWRITES
        self.only_written = {key for pair in written if plain or _is_out(schema, pair[0]) for key in pair}
        self.waits = self.kind in _WAITS
        self.compares = self.kind in _COMPARES


def _is_out(schema: Any, at: int) -> bool:
    return bool(schema.arguments[at].is_out)


_known: dict[Any, Operator] = {}


def operator(function: Any) -> Operator | None:
    """What is known of an operation; None of higher-order ones."""
    found = _known.get(function)
    if found is None and isinstance(function, torch._ops.OpOverload):
        found = _known[function] = Operator(function)
    return found
