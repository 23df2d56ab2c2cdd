"""A digest of each part of a file: it is the same in two versions where what can be seen there is the same.

The parts, by name:

    readable      that the file is a program, and the module's name
    text          all of it
    shape         all but the bodies of functions; with the heads of those inside functions
    bound X       the statements that bind the name X at the top level, bodies of functions left out
    defined Q     the definitions of that qualified name, bodies of functions left out
    run Q         the body of a function, and everything inside it
    exports       which names a star import takes
    summary F Q   what the function F says of the definitions Q (`facts/pernode.py`)
    answer F X    what a question about the file says (`facts/questions.py`)

Comments and blank lines between statements belong to no part, and neither do line numbers. A digest that is
`placed` covers the places of the part as well, for results that tell them.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from graphlint.facts import nodes as ast
from graphlint.facts import questions
from graphlint.facts.looking import RUN, start_of, start_of_body, statements_below
from graphlint.facts.modules import BOUND, DEFINED, EXPORTS, READABLE, SHAPE, TEXT
from graphlint.facts.pernode import SUMMARY

if TYPE_CHECKING:
    from graphlint.facts.bindings import Binding
    from graphlint.facts.modules import ModuleFile

PLACED = "@"
_Point = tuple[int, int]
_Piece = tuple[int, _Point, _Point]
"""A piece of the text, and how deep in blocks it stands."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Outline:
    """The digests of the parts of a module, each worked out when it is asked for; nothing is noted."""

    def __init__(self, module: ModuleFile) -> None:
        self._module = module
        self._digests: dict[str, str] = {}

    def digest(self, part: str, *, placed: bool) -> str:
        """The digest of a part; that of nothing where the file has no such part."""
        key = PLACED + part if placed else part
        if key not in self._digests:
            with self._module.looks.aside():
                self._digests[key] = self._work_out(part, placed)
        return self._digests[key]

    def _work_out(self, part: str, placed: bool) -> str:
        module = self._module
        if part == READABLE:
            return _digest(module.name, module.is_package)
        if part == TEXT:
            return _digest(module.source.text)
        if part == EXPORTS:
            return _digest(*sorted(module.exports))
        if part.startswith(questions.ANSWER):
            answer = questions.answer(module, part.removeprefix(questions.ANSWER))
            return _digest(answer, self.digest(SHAPE, placed=True) if placed else "")
        if part.startswith(SUMMARY):
            return _digest(*self._summaries(part.removeprefix(SUMMARY)))
        return self._of_pieces(self._pieces(part), placed)

    def _summaries(self, asked: str) -> Iterator[object]:
        """What a function says of the definitions of one name."""
        name, _, qualname = asked.partition(" ")
        home, _, function = name.partition(":")
        read = getattr(importlib.import_module(home), function)
        return map(read, self._module.definitions(qualname))

    def _pieces(self, part: str) -> Iterator[_Piece]:
        if part == SHAPE:
            yield from _of_block(self._module.source.tree)
            inside = (node for _, node in self._module.functions() if "_part" in node.__dict__)
            for node in inside:
                yield from _of_statement(node, 0)
        elif part.startswith(BOUND):
            for binding in self._module.bindings.get(part.removeprefix(BOUND), ()):
                yield from self._of_binding(binding)
        elif part.startswith(DEFINED):
            for node in self._module.definitions(part.removeprefix(DEFINED)):
                yield from _of_statement(node, 0)
        else:
            assert part.startswith(RUN)
            for node in self._module.definitions(part.removeprefix(RUN)):
                if isinstance(node, _FUNCTIONS):
                    yield 0, start_of_body(node), _end(node)

    def _of_binding(self, binding: Binding) -> Iterator[_Piece]:
        for test, outcome in binding.guards:
            yield int(outcome), start_of(test), _end(test)
        if isinstance(binding.node, (ast.stmt, ast.excepthandler)):
            yield from _of_statement(binding.node, 2 + binding.handler)
        else:  # within an expression, whose places may be wrong before Python 3.12
            yield from _of_block(self._module.source.tree)

    def _of_pieces(self, pieces: Iterable[_Piece], placed: bool) -> str:
        hasher = hashlib.blake2b(repr(sorted(self._module.notes)).encode(), digest_size=8)
        for depth, start, end in pieces:
            place = f"{start}" if placed else f"{start[1]}"
            hasher.update(f"\0{depth} {place}\0".encode())
            hasher.update(self._module.source.piece(start, end))
        return hasher.hexdigest()


def _digest(*what: object) -> str:
    text = repr(_in_order(what))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _in_order(what: object) -> object:
    """What `repr` says in the same way in every process: sets sorted, objects by their fields."""
    if isinstance(what, (set, frozenset)):
        return sorted(map(repr, what))
    if isinstance(what, (tuple, list)):
        return [_in_order(each) for each in what]
    names = getattr(what, "__slots__", ())
    return [(name, _in_order(getattr(what, name))) for name in names] if names else what


def _of_statement(node: ast.AST, depth: int) -> Iterator[_Piece]:
    """The pieces of a statement: bodies of functions left out, and what stands between two statements."""
    if isinstance(node, _FUNCTIONS):
        yield depth, start_of(node), start_of_body(node)
    elif statements_below(node):
        yield from _of_block(node, depth)
    else:
        yield depth, start_of(node), _end(node)


def _of_block(node: ast.AST, depth: int = 0) -> Iterator[_Piece]:
    """What a compound statement says itself before each of its blocks, and the statements in them."""
    at = (0, 0) if isinstance(node, ast.Module) else start_of(node)
    firsts = {id(block[0]) for block in node.__dict__.values() if type(block) is list and block}
    for child in statements_below(node):
        if id(child) in firsts and not isinstance(node, ast.Module):
            yield depth, at, start_of(child)
        yield from _of_statement(child, depth + 1)
        at = _end(child)


def _end(node: ast.AST) -> _Point:
    if isinstance(node, ast.match_case):
        return _end(node.body[-1])
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
