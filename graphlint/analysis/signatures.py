"""Signatures, as the text of a definition gives them: parameters with names, and their defaults."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.facts import nodes as ast


def named(spec: ast.arguments) -> list[ast.arg]:
    """The parameters that have a name each: all but `*args` and `**kwargs`."""
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]


def defaults(spec: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that have a default, each with it."""
    positional = [*spec.posonlyargs, *spec.args]
    with_default = positional[len(positional) - len(spec.defaults) :]
    for arg, default in [*zip(with_default, spec.defaults), *zip(spec.kwonlyargs, spec.kw_defaults)]:
        if default is not None:
            yield arg.arg, default
