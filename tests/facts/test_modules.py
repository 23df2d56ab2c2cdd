"""What a module binds and exports, with the conditions under which it does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphlint.facts.modules import Binding, ModuleFile
from graphlint.facts.source import parse


def module(text: str) -> ModuleFile:
    return ModuleFile(Path("m.py"), "m.py", "m", False, parse(Path("m.py"), text.encode()))


def only(text: str, name: str) -> Binding:
    [binding] = module(text).bindings[name]
    return binding


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("def", "def x(): pass"),
        ("def", "async def x(): pass"),
        ("class", "class x: pass"),
        ("import", "import x"),
        ("import", "import x.y"),
        ("import", "import y.z as x"),
        ("from", "from y import x"),
        ("from", "from y import z as x"),
        ("assign", "x = 1"),
        ("assign", "y = x = 1"),
        ("assign", "(y, [z, *x]) = f()"),
        ("assign", "x: int = 1"),
        ("declare", "x: int"),
        ("augassign", "x += 1"),
        ("for", "for y, x in z: pass"),
        ("with", "with f() as (x, y): pass"),
        ("except", "try: pass\nexcept E as x: pass"),
        ("walrus", "print(x := 1)"),
        ("walrus", "[x := i for i in y]"),
        ("match", "match y:\n  case [1, x]: pass"),
        ("match", "match y:\n  case {'a': 1, **x}: pass"),
        ("del", "del x"),
    ],
)
def test_each_kind_of_binding_is_known(kind: str, text: str) -> None:
    assert only(text, "x").kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n  x = 1",
        "class C:\n  x = 1",
        "lambda: (x := 1)",
        "[x for x in y]",
        "self.x = 1",
        "x[0] = 1",
        "print(x)",
    ],
)
def test_inner_scopes_and_stores_into_objects_bind_nothing(text: str) -> None:
    assert "x" not in module(text).bindings


def guards(binding: Binding) -> list[tuple[str, bool]]:
    return [(ast.unparse(test), outcome) for test, outcome in binding.guards]


def test_branches_carry_their_tests_with_polarity() -> None:
    text = "if A:\n  x = 1\nelif B:\n  x = 2\n  if C: x = 3\nelse:\n  x = 4\nx = 5"
    assert [guards(binding) for binding in module(text).bindings["x"]] == [
        [("A", True)],
        [("A", False), ("B", True)],
        [("A", False), ("B", True), ("C", True)],
        [("A", False), ("B", False)],
        [],
    ]


def test_a_fallback_in_a_handler_is_marked() -> None:
    text = "try:\n  import x\nexcept ImportError:\n  x = None\nelse:\n  x = x.y\nfinally:\n  x = x"
    assert [binding.handler for binding in module(text).bindings["x"]] == [False, True, False, False]


@pytest.mark.parametrize("block", ["for i in y:", "while y:", "with y:", "if y:", "match y:\n case 1:"])
def test_bodies_of_compound_statements_bind(block: str) -> None:
    assert only(f"{block}\n  def x(): pass", "x").kind == "def"


def test_an_import_knows_its_alias_and_an_assignment_its_target() -> None:
    binding = only("from a.b import c as x, d", "x")
    assert binding.alias is not None and binding.alias.name == "c"
    assert isinstance(only("y, x = 1, 2", "x").target, ast.Name)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a = 1\n_b = 2\nimport c", {"a", "c"}),
        ("__all__ = ['a', '_b']\na = _b = c = 1", {"a", "_b"}),
        ("__all__ = ('a',)\n__all__ += ['b']", {"a", "b"}),
        ("__all__ = ['a'] + ['b']", {"a", "b"}),
        ("__all__ = ['a']\n__all__ = ['b']", {"b"}),
        ("__all__ = ['a']\nif X:\n  __all__ += ['b']", {"a", "b"}),
        ("__all__: list[str] = ['a']", {"a"}),
        ("__all__ = other.__all__\na = 1", {"a"}),
        ("from x import *\na = 1", {"a"}),
    ],
)
def test_exports(text: str, names: set[str]) -> None:
    assert module(text).exports == names


def test_definitions_have_qualified_names_in_text_order() -> None:
    text = (
        "class A:\n  def f(self):\n    def g(): pass\n  class B: pass\n"
        "if x:\n  def h(): pass\nelse:\n  def h(): pass\n"
        "try: pass\nexcept E:\n  async def k(): pass\n"
    )
    found = module(text)
    assert [name for name, _ in found.functions()] == ["A", "A.f", "A.f.g", "A.B", "h", "h", "k"]
    assert len(found.definitions("h")) == 2
    assert found.definitions("nothing") == ()


def test_a_long_chain_of_branches_is_no_crash() -> None:
    text = "if x == 0: y = 0\n" + "".join(f"if x == {i}: y = {i}\n" for i in range(5000))
    assert len(module(text).bindings["y"]) == 5001
