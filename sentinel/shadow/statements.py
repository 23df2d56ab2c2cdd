"""The source text of a frame: its function, the `with` statement it is entering, the contexts around it."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any


class NotRunnable(Exception):
    """The body cannot be run again; the text says why."""


def enclosing_contexts(frame: FrameType) -> list[tuple[ast.expr, int]]:
    """The contexts that are open in a frame around its current line, outermost first, with their lines."""
    try:
        function = function_at(source_tree(frame.f_code.co_filename), frame.f_code)
    except NotRunnable:
        return []
    return [
        (item.context_expr, node.lineno)
        for node in statements(function)
        if isinstance(node, ast.With)
        for item in _open_items(node, frame)
    ]


def _open_items(node: ast.With, frame: FrameType) -> list[ast.withitem]:
    line = frame.f_lineno
    if node.body[0].lineno <= line <= last_line(node.body[-1]) and node.lineno < node.body[0].lineno:
        return node.items
    return node.items[: item_at(node, frame)] if node.lineno <= line < node.body[0].lineno else []


def item_at(statement: ast.With, frame: FrameType) -> int:
    """Which item of a `with` statement the frame is entering."""
    line, column = _position(frame)
    here = [
        at
        for at, item in enumerate(statement.items)
        if item.context_expr.lineno <= line <= last_line(item.context_expr)
    ]
    exact = [at for at in here if statement.items[at].context_expr.col_offset == column]
    capturing = [at for at in here if "graph" in ast.unparse(statement.items[at].context_expr)]
    return (exact or capturing or here or [len(statement.items) - 1])[0]


def _position(frame: FrameType) -> tuple[int, int | None]:
    if not hasattr(frame.f_code, "co_positions"):  # before Python 3.11
        return frame.f_lineno, None
    line, _, column, _ = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return line or frame.f_lineno, column


@lru_cache(maxsize=256)
def source_tree(file: str) -> ast.Module:
    """The syntax of a source file, which `linecache` may know from elsewhere; raises NotRunnable."""
    lines = linecache.getlines(file)
    if not lines:
        raise NotRunnable("its source text is not there")
    try:
        return ast.parse("".join(lines), file)
    except SyntaxError as error:
        raise NotRunnable("its source text cannot be parsed") from error


def function_at(tree: ast.Module, code: CodeType) -> Any:
    """The definition that has become `code`, or the whole tree for a module; raises NotRunnable."""
    if code.co_name == "<module>":
        return tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            if first <= code.co_firstlineno <= node.lineno:
                return node
    raise NotRunnable("the function that captures is not in its source text")


def statements(function: Any) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        yield child
        yield from statements(child)


def last_line(node: Any) -> int:
    """Where a node ends."""
    return int(node.end_lineno)


def with_at(function: Any, frame: FrameType) -> ast.With:
    """The innermost `with` statement that the frame is entering; raises NotRunnable."""
    line = frame.f_lineno
    found = [
        node
        for node in statements(function)
        if isinstance(node, ast.With)
        and any(item.context_expr.lineno <= line <= last_line(item.context_expr) for item in node.items)
    ]
    found = found or [
        node for node in statements(function) if isinstance(node, ast.With) and node.lineno == line
    ]
    if not found:
        raise NotRunnable("it was not captured under a `with` statement")
    return max(found, key=lambda node: node.lineno)
