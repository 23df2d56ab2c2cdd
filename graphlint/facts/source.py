"""From the bytes of a file to text and syntax tree, and from tree positions to spans in characters."""

from __future__ import annotations

import ast
import codecs
import contextlib
import gc
import io
import re
import sys
import tokenize
import warnings
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphlint.facts.misplaced import first_misplaced
from graphlint.finding import Span

_DEEPEST_TREE = 3000  # about what Python 3.11 and 3.12 accept
# The line ends of Python's tokenizer: `str.splitlines` knows more (form feed, U+2028) and would shift lines.
_LINE_END = re.compile(rb"\r\n|\r|\n")


class Unreadable(Exception):
    """A file that cannot be read as Python: `reason` says why, in words fit for the user.

    `line` and `column` count from 1, in characters; both are 1 for what concerns the file as a whole.
    """

    def __init__(self, path: Path, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.line = line
        self.column = column


@dataclass
class Source:
    """A parsed file.

    Its text is kept as UTF-8 without a byte order mark, its line ends as they are: `size` bytes of `held`,
    which may hold other files as well, from `begin` on. `unread` of them the tree does not hold
    (`facts/bodies.py`).
    """

    path: Path
    tree: ast.Module
    held: bytes | bytearray
    size: int
    begin: int = 0
    unread: int = 0

    def keep_in(self, held: bytearray, begin: int) -> None:
        """Share the text with `held` where it stands there from `begin` on: nobody may change it any more."""
        if held[begin : begin + self.size] == self.held:
            self.held, self.begin = held, begin

    @property
    def text(self) -> str:
        """All of the text."""
        return self.between(0, self.size)

    def between(self, start: int, end: int) -> str:
        """The text from one byte to another."""
        return self._bytes(start, end).decode("utf-8", "surrogatepass")

    def _bytes(self, start: int, end: int) -> bytes:
        return bytes(memoryview(self.held)[self.begin + start : self.begin + end])

    def says(self, word: str, start: int, end: int) -> bool:
        """Whether the text between two bytes holds a word."""
        return self.held.find(_encoded(word), self.begin + start, self.begin + end) >= 0

    def is_ascii(self, start: int, end: int) -> bool:
        """Whether the text between two bytes has ASCII characters only."""
        return self._all_ascii or self._bytes(start, end).isascii()

    @cached_property
    def _all_ascii(self) -> bool:
        return self._bytes(0, self.size).isascii()

    @cached_property
    def starts(self) -> array[int]:
        """At which byte each line starts, lines counted as `ast` counts them, and where the last one ends."""
        ends = [end.end() for end in _LINE_END.finditer(self._bytes(0, self.size))]
        return array("I", [0, *ends, self.size])

    def line(self, number: int) -> str:
        """A line, counted from 1, without its end."""
        return self.between(self.starts[number - 1], self.starts[number]).rstrip("\r\n")

    def piece(self, start: tuple[int, int], end: tuple[int, int]) -> bytes:
        """The text between two places as `ast` counts them, columns in bytes."""
        return self._bytes(self.starts[start[0] - 1] + start[1], self.starts[end[0] - 1] + end[1])

    def span(self, node: ast.AST) -> Span:
        """Where `node` stands: lines and columns from 1, columns in characters, the end exclusive.

        A node without a position of its own (arguments, `with` items, match cases) spans its parts.
        """
        first, last = (node, node) if hasattr(node, "lineno") else _outermost(node)
        line, column = self._place(getattr(first, "lineno", 1), getattr(first, "col_offset", 0))
        end = self._place(
            getattr(last, "end_lineno", None) or line, getattr(last, "end_col_offset", None) or 0
        )
        return Span(line, column, *max(end, (line, column)))

    def _place(self, line: int, offset: int) -> tuple[int, int]:
        # Before 3.12 the positions inside f-strings may lie outside the file: clamp, never fail.
        line = max(1, min(line, len(self.starts) - 1))
        text = self.line(line)
        if text.isascii():
            return line, max(0, min(offset, len(text))) + 1
        return line, len(_encoded(text)[:offset].decode("utf-8", "ignore")) + 1


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _outermost(node: ast.AST) -> tuple[ast.AST, ast.AST]:
    """The parts of `node` that begin first and end last; `node` itself when no part has a position."""
    parts = [part for part in ast.walk(node) if hasattr(part, "lineno")]
    if not parts:
        return node, node
    first = min(parts, key=lambda part: (part.lineno, part.col_offset))  # type: ignore[attr-defined]
    last = max(parts, key=lambda part: (part.end_lineno, part.end_col_offset))  # type: ignore[attr-defined]
    return first, last


def decode(data: bytes, path: Path) -> str:
    """The text of a Python file, by its byte order mark or PEP 263 comment, else UTF-8.

    Raises `Unreadable` where Python would not accept the encoding.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding.startswith("utf-8"):
            return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        return data.decode(encoding)
    except (SyntaxError, LookupError, ValueError) as error:
        raise Unreadable(path, f"cannot be decoded: {_in_words(error, data)}") from None


def _in_words(error: Exception, data: bytes) -> str:
    if isinstance(error, SyntaxError) and "missing encoding" in error.msg:
        # Found in the first two lines, where detect_encoding keeps quiet about the byte.
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as cause:
            error = cause
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#04x} at offset {error.start} is not {error.encoding}"
    if isinstance(error, SyntaxError):
        return str(error.msg)
    return str(error)


def parse(path: Path, data: bytes) -> Source:
    """The syntax tree of a file, by the grammar of the running interpreter.

    Every failure is `Unreadable`; the warnings that Python gives about the parsed code are dropped.
    """
    if b"\0" in data:
        raise Unreadable(path, "contains a NUL byte")
    text = decode(data, path)
    tree, held = parse_text(path, text), _encoded(text)
    misplaced = first_misplaced(tree)
    if misplaced is not None:
        statement, reason = misplaced
        raise Unreadable(path, f"syntax error: {reason}", statement.lineno, statement.col_offset + 1)
    return Source(path, tree, data if held == data else held, len(held))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector still: a tree is all live objects, and walking them doubles the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _of_bounded_depth(tree: ast.Module) -> ast.Module:
    """`tree`, or RecursionError: Python 3.10 builds trees of any depth, later versions do not."""
    if sys.version_info >= (3, 11):
        return tree
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST_TREE):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise RecursionError


def parse_text(path: Path, text: str) -> ast.Module:
    """The syntax tree of a text, which stands in a file; every failure is `Unreadable`."""
    line = column = 1
    try:
        with warnings.catch_warnings(), _no_collection():
            warnings.simplefilter("ignore")
            return _of_bounded_depth(ast.parse(text))
    except (RecursionError, MemoryError):
        reason = "nested too deeply"
    except SyntaxError as error:
        reason = f"syntax error: {error.msg}"
        line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
        if "too many nested" in error.msg or "too complex" in error.msg:
            reason = "nested too deeply"
    except ValueError as error:
        reason = f"syntax error: {error}"
    # Raised outside the handlers: the traceback of a deep failure would keep its frames alive.
    raise Unreadable(path, reason, line, column)
