"""Custom operators: followed where their bodies are Python, refused by name where they are not."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.operations import Traits


def run(known: Traits, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run the operator's Python, so that what it calls arrives here one by one."""
    body = _python_body(function)
    if body is None:
        errors.refuse(f"the custom operator {function}: it has no Python implementation")
    from graphlint.sentinel.virtual.dispatch import modes

    with modes():
        return body(*args, **kwargs)


def run_higher_order(operator: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Operators that take functions: a branch reads its condition on the host; others cannot be followed."""
    from graphlint.sentinel.virtual.dispatch import modes

    if operator is not torch.ops.higher_order.cond:
        errors.refuse(f"the higher-order operator {operator}")
    condition, if_true, if_false, operands = args
    with modes():
        return if_true(*operands) if condition else if_false(*operands)


def cond(condition: Any, if_true: Any, if_false: Any, operands: Any = ()) -> Any:
    """`torch.cond`: outside of compiled code it reads its condition on the host."""
    return if_true(*operands) if condition else if_false(*operands)


def _python_body(function: Any) -> Any:
    from torch._library.custom_ops import OPDEFS

    definition = OPDEFS.get(function._schema.name)
    if definition is not None:
        bodies = definition._backend_fns
        for kind in ("cuda", None, "default", "CompositeExplicitAutograd"):
            if kind in bodies:
                return bodies[kind]
    return registered.get((function._schema.name, "CUDA")) or registered.get(
        (function._schema.name, "CompositeExplicitAutograd"), registered.get((function._schema.name, ""))
    )


registered: dict[tuple[str, str], Any] = {}


def remember(library: Any, name: Any, body: Any, key: str) -> None:
    """Note a Python body that the program registers with `torch.library.Library.impl`."""
    if not callable(body):
        return
    if isinstance(name, torch._ops.OpOverload):
        full = name._schema.name
    else:
        full = str(name) if "::" in str(name) else f"{library.ns}::{name}"
    registered[(full.split(".")[0], key or "CompositeImplicitAutograd")] = body
