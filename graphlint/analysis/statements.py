"""Statements: which module runs each of them, and what the small ones do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    assignments,
    branches,
    conditions,
    contexts,
    definitions,
    expressions,
    item_writes,
    loops,
    matching,
    names,
    narrowing,
    own_text,
    refills,
    returns,
    storing,
    trying,
)
from graphlint.analysis.frames import Frame
from graphlint.analysis.values import (
    Unknown,
)
from graphlint.facts import looking
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def execute(m: Machine, body: Sequence[ast.stmt], frame: Frame) -> None:
    """Run statements in order until one of them leaves the block."""
    handlers = _handlers()
    for index, statement in enumerate(body):
        if not frame.reachable:
            return
        frame.statement = statement
        if type(statement) is ast.If:
            leaves = bool(m.captures) and refills.returns_found(statement)
            if branches.run_if(m, statement, frame, body[index + 1 :] if leaves else ()):
                return
            continue
        handler = handlers.get(type(statement))
        if handler is not None:
            handler(m, statement, frame)


def _expression(m: Machine, node: ast.Expr, frame: Frame) -> None:
    expressions.evaluate(m, node.value, frame)


def bind_only(m: Machine, node: ast.stmt, frame: Frame) -> None:
    """Run one module-level statement for the names that it binds."""
    if isinstance(node, (ast.For, ast.With)):
        return
    execute(m, [node], frame)


def _raise(m: Machine, node: ast.Raise, frame: Frame) -> None:
    if node.exc is not None and not m.captures:
        expressions.evaluate(m, node.exc, frame)
    frame.reachable = False


def _assert(m: Machine, node: ast.Assert, frame: Frame) -> None:
    value = expressions.evaluate(m, node.test, frame)
    if conditions.test(m, value, node.test, frame, "assert") is False and m.captures:
        frame.reachable = False
        return
    for text, (_, narrowed) in narrowing.narrow(m, node.test, True, frame).items():
        if not text.startswith("?"):
            m.heap.write(frame.env.fields, text, narrowed)


def _with(m: Machine, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
    contexts.run_with(m, node.items, node.body, frame, node)


def _break(m: Machine, node: ast.Break, frame: Frame) -> None:
    if frame.loops:
        frame.loops[-1].breaks.append(m.heap.snapshot(frame.loops[-1].level))
    frame.reachable = False


def _continue(m: Machine, node: ast.Continue, frame: Frame) -> None:
    if frame.loops:
        frame.loops[-1].continues.append(m.heap.snapshot(frame.loops[-1].level))
    frame.reachable = False


def _delete(m: Machine, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            m.heap.write(frame.env.fields, target.id, Unknown(storing.DELETED))
        elif isinstance(target, ast.Attribute):
            storing.delete(m, expressions.evaluate(m, target.value, frame), target.attr, node, frame)
        elif isinstance(target, ast.Subscript):
            owner = expressions.evaluate(m, target.value, frame)
            item_writes.delete_item(m, owner, expressions.evaluate(m, target.slice, frame), node, frame)


def _define(m: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
    if frame.function is not None and own_text.text_of(node).captures:
        m.nested.append(definitions.function_value(m, node, frame, node.name))
    m.heap.write(frame.env.fields, node.name, definitions.define_function(m, node, frame))


def _define_class(m: Machine, node: ast.ClassDef, frame: Frame) -> None:
    m.heap.write(frame.env.fields, node.name, definitions.define_class(m, node, frame))


def _import(m: Machine, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    for alias in node.names:
        name = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
        if name != "*":
            m.heap.write(frame.env.fields, name, names.imported(m, frame.module, node, name))


def _global(m: Machine, node: ast.Global, frame: Frame) -> None:
    frame.globals_.update(node.names)


def _nonlocal(m: Machine, node: ast.Nonlocal, frame: Frame) -> None:
    frame.nonlocals.update(node.names)


_Handler = Callable[["Machine", Any, Frame], None]


@cache
def _handlers() -> dict[type[ast.AST], _Handler]:
    """What runs each type of statement; asked for when all modules are there."""
    table: dict[type[ast.AST], _Handler] = {
        ast.Expr: _expression,
        ast.Assign: assignments.run_assign,
        ast.AnnAssign: assignments.run_annotated,
        ast.AugAssign: assignments.run_augmented,
        ast.Return: returns.run,
        ast.Raise: _raise,
        ast.Assert: _assert,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: trying.run,
        ast.For: loops.run_for,
        ast.AsyncFor: loops.run_for,
        ast.While: loops.run_while,
        ast.Break: _break,
        ast.Continue: _continue,
        ast.Delete: _delete,
        ast.FunctionDef: _define,
        ast.AsyncFunctionDef: _define,
        ast.ClassDef: _define_class,
        ast.Import: _import,
        ast.ImportFrom: _import,
        ast.Global: _global,
        ast.Nonlocal: _nonlocal,
        ast.Match: matching.run,
    }
    return looking.by_type(table)
