"""The quick walk gives what `ast.walk` gives, contexts and operators left out, in the same order."""

from __future__ import annotations

import ast
from pathlib import Path

import graphlint
from graphlint.facts import nodes
from graphlint.facts.walking import children, walk

LEFT_OUT = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
EVERYTHING = """
@decorate(1, *a, key=b, **c)
class A(Base, metaclass=M):
    x: int = 1
    async def f(self, p=1, /, q=2, *r, s, t=3, **u) -> int:
        async with a as b, c: pass
        async for i in x: await y
        return {1: 2, **rest, "a": [*b, {c}, (d,)]}
def g(*, only): yield; yield from h
match x:
    case {"a": 1, **r} | A(b=c) if d: pass
    case None | True: pass
    case [1, *y] | [*_]: global z
    case B.c: pass
for i, (j, *k) in x[1:2, ::3]:
    if not i and j or k < 1 <= 2 is not None: break
    else: continue
while (w := 1): del w, a.b, c[0]
try: import a.b as c
except (E, F) as e: raise G from e
else: from . import *
finally: assert x, f"{a!r:>{b}} text"
lambda a, *b, c=1: [i async for i in x if i if j] + {k: v for k, v in y} if z else ~-q
x @= 1; y: int; nothing = ...
"""


def test_the_order_and_the_nodes_are_those_of_the_standard_walk() -> None:
    package = Path(graphlint.__file__).parent
    texts = [EVERYTHING, *(path.read_text() for path in sorted(package.rglob("*.py"))[:40])]
    for text in texts:
        tree = nodes.parse(text)
        usual = [node for node in ast.walk(tree) if not isinstance(node, LEFT_OUT)]
        assert walk(tree) == usual
        for node in usual:
            below = [child for child in ast.iter_child_nodes(node) if not isinstance(child, LEFT_OUT)]
            assert children(node) == below
