"""Which frame holds the `with` statement of a capture, and whether what is around it would be there again."""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
from types import FrameType, ModuleType
from typing import Any

from graphlint.sentinel.origins import is_program
from graphlint.sentinel.shadow.statements import NotRunnable, enclosing_contexts
from graphlint.sentinel.watching.runs import locals_of

_HARMLESS = (
    "torch",
    "contextlib",
    "threading",
    "_thread",
    "graphlint",
    "warnings",
    "builtins",
    "tempfile",
    "_io",
    "_pytest",
    "unittest",
)
_DEEPEST = 40


def statement_frame(frame: FrameType | None) -> FrameType:
    """The frame whose `with` statement opens the capture, given the caller of `torch.cuda.graph.__enter__`.

    A generator made a context manager by `contextlib` only passes it on: then it is the frame that uses it.
    Raises NotRunnable when there is none.
    """
    while frame is not None:
        if frame.f_code.co_filename == contextlib.__file__:
            if frame.f_code.co_name not in ("__enter__", "__exit__"):
                raise NotRunnable("its capture is opened through an `ExitStack`")
            frame = frame.f_back
        elif frame.f_code.co_flags & inspect.CO_GENERATOR and _is_manager(frame.f_back):
            frame = frame.f_back
        elif not is_program(frame.f_code):
            raise NotRunnable(_of_torch(frame))
        else:
            return frame
    raise NotRunnable("its capture is not opened by the program")


def _of_torch(frame: FrameType) -> str:
    """Why a capture that torch opens for the program is left alone."""
    if frame.f_globals.get("__name__") == "torch.cuda.graphs":
        return (
            "it is made by `make_graphed_callables`, which has put replays in the place of that code; "
            "`wrap(..., eager=...)` compares them"
        )
    return "it is made for a compiled function, which torch compiles again when what it has read changes"


def foreign_context(frame: FrameType) -> str:
    """A context that the capture stands under and of which it cannot be told what it provides, or nothing."""
    for outer in _program_frames(frame):
        for expression, line in enclosing_contexts(outer):
            if not _is_harmless(expression, outer):
                text = ast.unparse(expression)
                text = text if len(text) <= 50 else f"{text[:47]}..."
                return f"`with {text}` of line {line}"
    return ""


def _program_frames(frame: FrameType | None) -> list[FrameType]:
    found: list[FrameType] = []
    while frame is not None and len(found) < _DEEPEST:
        if is_program(frame.f_code):
            found.append(frame)
        frame = frame.f_back
    return found


def _is_manager(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename == contextlib.__file__


def _is_harmless(expression: ast.expr, frame: FrameType) -> bool:
    called = expression.func if isinstance(expression, ast.Call) else expression
    try:
        return _home(_resolved(called, frame)).startswith(_HARMLESS)
    except LookupError:
        return False


def _home(value: Any) -> str:
    function = getattr(value, "func", None)  # of a context manager made by contextlib
    for candidate in (function, value, type(value)):
        home = getattr(candidate, "__module__", None)
        if isinstance(home, str):
            return home
    return ""


def _resolved(node: ast.expr, frame: FrameType) -> Any:
    if isinstance(node, ast.Name):
        for names in (locals_of(frame), frame.f_globals, vars(builtins)):
            if node.id in names:
                return names[node.id]
    elif isinstance(node, ast.Attribute):
        owner = _resolved(node.value, frame)
        if isinstance(owner, (ModuleType, type)):
            return getattr(owner, node.attr, None)
        own = getattr(owner, "__dict__", {})
        return own[node.attr] if node.attr in own else getattr(type(owner), node.attr, None)
    raise LookupError
