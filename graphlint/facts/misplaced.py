"""Statements that the grammar allows and Python refuses where they stand: `return` outside a function.

Only what runs when a module is imported is looked at, as its functions may never be read.
"""

from __future__ import annotations

import ast

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_WRONG: dict[type, str] = {
    ast.Return: "'return' outside function",
    ast.Yield: "'yield' outside function",
    ast.YieldFrom: "'yield' outside function",
    ast.Await: "'await' outside function",
    ast.AsyncFor: "'async for' outside async function",
    ast.AsyncWith: "'async with' outside async function",
}
_WRONG_OUTSIDE_LOOPS: dict[type, str] = {
    ast.Break: "'break' outside loop",
    ast.Continue: "'continue' not properly in loop",
}


def first_misplaced(tree: ast.Module) -> tuple[ast.stmt, str] | None:
    """The first statement of a module, or of a class in it, that may not stand there, and why not."""
    found: list[tuple[ast.stmt, str]] = []
    pending: list[tuple[list[ast.stmt], bool]] = [(tree.body, False)]
    while pending:
        block, in_loop = pending.pop()
        for statement in block:
            reason = _WRONG.get(type(statement)) or _WRONG.get(type(getattr(statement, "value", None)))
            if reason is None and not in_loop:
                reason = _WRONG_OUTSIDE_LOOPS.get(type(statement))
            if reason is not None:
                found.append((statement, reason))
            if not isinstance(statement, _FUNCTIONS):
                pending += _blocks(statement, in_loop)
    return min(found, key=lambda each: each[0].lineno, default=None)


def _blocks(statement: ast.stmt, in_loop: bool) -> list[tuple[list[ast.stmt], bool]]:
    """The blocks of a statement, each with whether it is in a loop."""
    within = isinstance(statement, _LOOPS) or (in_loop and not isinstance(statement, ast.ClassDef))
    parts = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    blocks = [(part.body, within) for part in (statement, *parts) if hasattr(part, "body")]
    blocks += [
        (part, in_loop) for name in ("orelse", "finalbody") if (part := getattr(statement, name, None))
    ]
    return blocks
