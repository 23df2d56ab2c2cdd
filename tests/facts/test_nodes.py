"""Small nodes are Python's nodes in all that they say, in less than half of the memory."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import graphlint
from graphlint.facts import nodes
from tests.facts.test_bodies import ODD, shown
from tests.facts.test_walking import EVERYTHING

# They see trees as Python makes them: where small nodes are made of its nodes, and where texts are parsed.
OF_PYTHON = {"facts/nodes.py", "facts/source.py", "facts/misplaced.py"}


def test_they_hold_what_the_nodes_of_python_hold() -> None:
    for text in (EVERYTHING, ODD, "x = u'text', 'text'", "pass\nif x:\n    pass"):
        assert shown(nodes.parse(text)) == shown(ast.parse(text))
        assert ast.unparse(nodes.parse(text)) == ast.unparse(ast.parse(text))


def test_moved_by_lines() -> None:
    tree = ast.parse("if a:\n" + ODD.replace("\n", "\n    "))
    nodes.make_small(tree, 7)
    assert shown(tree) == shown(ast.increment_lineno(ast.parse("if a:\n" + ODD.replace("\n", "\n    ")), 7))


def test_their_kinds_are_those_that_the_analysis_asks_for() -> None:
    for node in ast.walk(nodes.parse(EVERYTHING)):
        if node._fields and not isinstance(node, nodes.KINDS_WITH_BLOCKS):
            assert type(node) is getattr(nodes, type(node).__name__) is not getattr(ast, type(node).__name__)
            assert isinstance(node, getattr(ast, type(node).__name__))
            assert node.__dict__ == {}


def test_endless_sums() -> None:
    text = "x = " + " + ".join(["a"] * 2500)
    node = nodes.parse(text).body[0].value  # type: ignore[attr-defined]
    while type(node) is nodes.BinOp:
        assert type(node.right) is nodes.Name
        node = node.left
    assert type(node) is nodes.Name


def test_memory() -> None:
    text = Path(nodes.__file__).read_text() * 20
    assert _bytes_of(nodes.parse(text)) < _bytes_of(ast.parse(text)) * 0.5


def _bytes_of(tree: ast.AST) -> int:
    total, numbers = 0, set[int]()
    for node in ast.walk(tree):
        held = [getattr(node, name, None) for name in (*node._fields, *node._attributes)]
        own = {id(each): each for each in held if type(each) is int and each > 256}
        lists = [each for each in held if type(each) is list and each]
        fields = sys.getsizeof(node.__dict__) if node.__dict__ else 0
        total += sys.getsizeof(node) + fields + sum(map(sys.getsizeof, lists))
        total += sum(sys.getsizeof(number) for key, number in own.items() if key not in numbers)
        numbers |= own.keys()
    return total


def test_nobody_asks_for_the_kinds_of_python_itself() -> None:
    package = Path(graphlint.__file__).parent
    taking = [*package.glob("facts/*.py"), *package.glob("analysis/**/*.py"), *package.glob("rules/**/*.py")]
    found = {path.relative_to(package).as_posix() for path in taking if _imports_ast(path.read_text())}
    assert found == OF_PYTHON


def _imports_ast(text: str) -> bool:
    return re.search(r"^\s*(import ast\b|from ast import)", text, re.MULTILINE) is not None
