"""Bodies of functions that nobody has read: kept as text, and parsed when somebody does.

A syntax tree takes fifteen times the bytes of its text, and most of a program is bodies of functions that no
run comes to. A file is parsed as a whole, so that its errors are known; then the bodies become text again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphlint.facts import nodes as ast
from graphlint.facts.looking import RUN, Definition, statements_below
from graphlint.facts.nodes import make_small
from graphlint.facts.pernode import is_of_nodes
from graphlint.facts.source import Source, Unreadable, parse_text
from graphlint.facts.walking import walk

FEWEST_LINES = 3  # shorter bodies would save little
_ANY_BLOCK = "if 1:\n"


class Body:
    """The body of a function as text.

    What is read of it is the tree that the whole file has there, every node where it stands in the file.
    """

    __slots__ = ("_last", "_source", "first")

    def __init__(self, source: Source, first: ast.stmt, last: int) -> None:
        self.first = first.lineno, first.col_offset
        self._last = last
        self._source = source

    @property
    def _place(self) -> tuple[int, int]:
        starts = self._source.starts
        return starts[self.first[0] - 1], starts[self._last]

    @property
    def size(self) -> int:
        begin, end = self._place
        return end - begin

    def says(self, word: str) -> bool:
        """Whether the text holds a word; never denied beyond ASCII, where a name has several forms."""
        source, place = self._source, self._place
        return source.says(word, *place) or not source.is_ascii(*place)

    def read(self) -> list[ast.stmt]:
        """The statements of the body, parsed anew."""
        source = self._source
        source.unread -= self.size
        try:
            text = source.between(*self._place)
            block: Any = parse_text(source.path, _ANY_BLOCK + text).body[0]
        except Unreadable:  # it ends in a backslash, say
            return self._from_whole()
        make_small(block, self.first[0] - block.body[0].lineno)
        return block.body  # type: ignore[no-any-return]

    def _from_whole(self) -> list[ast.stmt]:
        tree = parse_text(self._source.path, self._source.text)
        make_small(tree)
        for node in walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if (node.body[0].lineno, node.body[0].col_offset) == self.first:
                    return node.body
        raise AssertionError("a function is not where it was")


def keep_as_text(source: Source, definitions: Iterable[tuple[str, Definition]]) -> None:
    """Make text of the bodies of functions, but for short ones and those in which something is defined."""
    functions = [node for _, node in definitions if "_part" in node.__dict__]
    around = {node.__dict__["_part"] for node in functions if not _is_outermost(node)}
    for node in functions:
        held = node.__dict__
        if _is_outermost(node) and held["_part"] not in around:
            first, last = held["_body"][0], held["end_lineno"]
            if last - first.lineno >= FEWEST_LINES - 1 and _begins_line(source, first):
                held["_kept"] = Body(source, first, last)
                source.unread += held["_kept"].size
                del held["_body"]


def put_back(source: Source) -> None:
    """Make text again of the bodies that were read; nobody may use their nodes any more."""
    pending: list[ast.AST] = [source.tree]
    while pending:  # facts about nodes above them may hold nodes of the bodies
        node = pending.pop()
        held = node.__dict__
        for fact in [name for name in held if is_of_nodes(name)]:
            del held[fact]
        if "_kept" not in held:
            pending += statements_below(node)
        elif "_body" in held:
            source.unread += held["_kept"].size
            for statement in held.pop("_body"):
                let_go(statement)


def let_go(tree: ast.AST) -> None:
    """Free a tree now: through what is kept on its nodes it refers to itself, in circles."""
    for node in list(walk(tree)):
        node.__dict__.clear()


def _is_outermost(node: ast.AST) -> bool:
    held = node.__dict__
    path, qualname = held["_whole"]
    return bool(held["_part"] == (path, RUN + qualname))


def _begins_line(source: Source, first: ast.stmt) -> bool:
    return not source.piece((first.lineno, 0), (first.lineno, first.col_offset)).strip(b" \t")
