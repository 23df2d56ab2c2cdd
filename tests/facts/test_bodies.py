"""Bodies that are kept as text are read as the tree that the whole file has there, every node in its place."""

from __future__ import annotations

import ast
import random
import sys
import sysconfig
from pathlib import Path

import pytest

from graphlint.analysis.callers import imports_in
from graphlint.analysis.generators import is_generator
from graphlint.analysis.subclasses import makes
from graphlint.facts.looking import Looks
from graphlint.facts.modules import ModuleFile
from graphlint.facts.source import Unreadable, parse
from graphlint.facts.walking import walk

LIBRARY = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
PATH = Path("example.py")
ODD = '''
class A:
\tasync def tabs(self, x=1, *y: int) -> str:
\t\t"""Text.

Further out.
\t\t"""
\t\tasync with x as (a, b): await a
\t\treturn f"""{x!r:>{y}} {
            x}""" \\
        "more"

# a comment further out
\tdef twice(self): return 1; return 2

class B:
    def follows(self):
        held = {
    1: 2,
        }
        global z; z = 1
        x = lambda: (yield)

    def beyond_ascii(self):
        if a:
            pass
        é = "ü" + ｎａｍｅ; 𝐱 = 1
        return é

@decorated
def late(a, /, b, *, c=lambda: 1): \\
    pass
def last():
    for i in range(3):
        print(i)
    else:
        raise NotImplementedError'''


def module(data: bytes) -> ModuleFile:
    return ModuleFile(PATH, "example.py", "example", False, parse(PATH, data))


def shown(part: object) -> object:
    """All that a tree holds; `ast.dump` leaves out what only some nodes have by default."""
    if isinstance(part, list):
        return [shown(each) for each in part]
    if not isinstance(part, ast.AST):
        return repr(part)
    names = (*part._fields, *part._attributes)
    return [type(part).__name__, *((name, shown(getattr(part, name, None))) for name in names)]


def kept(of: ModuleFile) -> list[ast.AST]:
    return [node for _, node in of.functions() if "_kept" in node.__dict__]


def same_as_whole(data: bytes) -> int:
    """Compare, and say how many bodies were kept as text."""
    found, whole = module(data), parse(PATH, data)
    count, size = len(kept(found)), found.source.size
    assert found.held <= size
    assert shown(found.tree) == shown(whole.tree)
    assert found.held == size
    return count


@pytest.mark.parametrize("path", LIBRARY[::8], ids=lambda path: path.stem)
def test_the_tree_is_that_of_the_whole_file(path: Path) -> None:
    same_as_whole(path.read_bytes())


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_odd_texts(ends: str) -> None:
    assert same_as_whole(ODD.replace("\n", ends).encode()) == 4


@pytest.mark.skipif(sys.version_info < (3, 12), reason="newer syntax")
def test_type_aliases() -> None:
    assert same_as_whole(b"\n\n\ndef f[T]():\n    type X[S] = list[S]\n    a: X = 1\n    return a\n") == 1


def test_a_body_that_is_no_text_of_its_own() -> None:
    ends_in_backslash = b"def f():\n    a = 1\n    b = 2\n    return a + b \\\n\n"
    gaps = b"def g(*, a, b=1): return {**a, 1: b}\n"
    assert same_as_whole(ends_in_backslash + gaps) == 1


def test_edits_at_random() -> None:
    """Whatever is still a program after lines were moved, doubled, cut or indented."""
    choose, read = random.Random(4), 0
    lines = [*ODD.split("\n"), *(Path(__file__).read_text(encoding="utf-8").split("\n"))]
    for _ in range(150):
        edited = list(lines)
        for _ in range(choose.randrange(1, 4)):
            at = choose.randrange(len(edited))
            line = edited[at]
            new = choose.choice([[], [line, line], [line + " \\"], [" " + line], ["\f" + line], [line + ";"]])
            edited[at : at + 1] = new
        try:
            read += same_as_whole("\n".join(edited).encode())
        except Unreadable:
            continue
    assert read > 100


def test_what_the_text_denies_the_tree_does_not_say() -> None:
    for path in LIBRARY[::9]:
        found = module(path.read_bytes())
        whole = module(path.read_bytes())
        for _, node in whole.functions():
            walk(node)  # all bodies are read
        names = {node.id for node in walk(whole.tree) if isinstance(node, ast.Name)}
        for name in sorted(names)[::7]:
            assert makes(found, name) == makes(whole, name)
        assert list(map(shown, imports_in(found.tree))) == list(map(shown, imports_in(whole.tree)))
        for (_, one), (_, other) in zip(found.functions(), whole.functions(), strict=True):
            assert is_generator(one) == is_generator(other)


def test_a_body_is_read_when_it_is_asked_for_and_not_before() -> None:
    found = module(
        b"def f():\n    a = 1\n    b = 2\n    return a\n\ndef g():\n    c = 1\n    d = 2\n    return c\n"
    )
    (_, first), (_, second) = found.functions()
    before = found.held
    assert first.body is first.body
    assert before < found.held < found.source.size
    assert "_body" not in second.__dict__


def test_looking_for_a_word_rests_on_the_bodies_that_lack_it() -> None:
    looks = Looks()
    data = b"def f():\n    a = 1\n    b = 2\n    return a\n"
    found = ModuleFile(PATH, "example.py", "example", False, parse(PATH, data), looks)
    assert not imports_in(found.tree)
    assert ("example.py", "run f") in looks.parts
