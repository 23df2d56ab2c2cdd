"""What the device needs to know of an operation of ATen, read once from its schema and tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

aten = torch.ops.aten

# Views by what they do, though their schemas do not say so.
_SILENT_VIEWS = {
    aten._unsafe_view.default,
    aten.lift_fresh.default,
    aten._sparse_coo_tensor_with_dims_and_tensors.default,
    aten._sparse_coo_tensor_unsafe.default,
    aten._sparse_csr_tensor_unsafe.default,
    aten._sparse_compressed_tensor_unsafe.default,
    aten._validate_sparse_coo_tensor_args.default,
}
# Composite, and the same whether or not they are taken apart.
_WHOLE = {"linear", "matmul"}


@dataclass(frozen=True, slots=True)
class Traits:
    name: str
    writes: tuple[tuple[int, str], ...]  # position and name of every argument that is written
    returned: tuple[int | None, ...]  # for each result the written argument that it is, or None
    view: bool  # returns views and computes nothing
    metadata: bool  # changes shape or storage of its argument and computes nothing
    factory: bool  # makes a tensor from no tensor, or from the looks of one
    like: bool
    random: bool
    takes_generator: bool
    takes_device: bool
    elementwise: bool
    custom: bool
    composite: bool  # made of other operations, and in inference mode not yet taken apart


_known: dict[Any, Traits] = {}


def traits(function: Any) -> Traits:
    """The traits of an overload."""
    found = _known.get(function)
    if found is None:
        found = _known[function] = _read(function)
    return found


def _read(function: Any) -> Traits:
    schema = function._schema
    arguments = schema.arguments
    name = schema.name.removeprefix("aten::")
    names = {argument.name for argument in arguments}
    written = [
        (at, argument)
        for at, argument in enumerate(arguments)
        if argument.alias_info and argument.alias_info.is_write
    ]
    has_tensor = any("Tensor" in str(argument.type) for argument in arguments)
    tags = set(function.tags)
    like = name.startswith("new_") or name.endswith("_like")
    return Traits(
        name=name,
        writes=tuple((at, argument.name) for at, argument in written),
        returned=tuple(_which(result, written) for result in schema.returns),
        view=not written and (function in _SILENT_VIEWS or _returns_views(schema)),
        metadata=torch.Tag.inplace_view in tags or name in ("set_", "resize_", "resize_as_", "detach_"),
        factory=(not has_tensor and bool(schema.returns) and "dtype" in names) or like,
        like=like,
        random=torch.Tag.nondeterministic_seeded in tags,
        takes_generator="generator" in names,
        takes_device="device" in names,
        elementwise=torch.Tag.pointwise in tags or name.startswith("_foreach_"),
        composite=name not in _WHOLE and function._can_decompose(),
        custom=not schema.name.startswith(("aten::", "prim::", "prims::")),
    )


def _which(result: Any, written: list[tuple[int, Any]]) -> int | None:
    if result.alias_info is None or not result.alias_info.is_write:
        return None
    for at, argument in written:
        if argument.alias_info.before_set & result.alias_info.before_set:
            return at
    return None


def _returns_views(schema: Any) -> bool:
    returns = schema.returns
    return bool(returns) and all(result.alias_info and not result.alias_info.is_write for result in returns)
