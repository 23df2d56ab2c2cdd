"""The order of the elements of sequences: `sorted`, `reversed`, `range`, literal numbers, slices.

An order is `ascending`, `descending` or empty when nothing is known. It is kept beside the sequence, since
the elements themselves are mostly not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis.values import Const, Function, Obj, Sequence_, Value, alternatives, is_none
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

Part = int | str | None

_OPPOSITE = {"ascending": "descending", "descending": "ascending"}
_DIRECTIONS: dict[type[ast.operator], str] = {
    ast.Add: "ascending",
    ast.Mult: "ascending",
    ast.LShift: "ascending",
    ast.Sub: "descending",
    ast.FloorDiv: "descending",
    ast.RShift: "descending",
}
# Sizes are not negative, so that these keep the order of the numbers that they are applied to.
_GROWING = (ast.Add, ast.Mult, ast.Pow, ast.LShift, ast.FloorDiv)


def of(m: Machine, value: Value | None) -> str:
    """The order of the elements, or of the part of them that `part_of` names."""
    if not isinstance(value, (Sequence_, Obj)):
        return ""
    known = m.memo.get(("order", value.serial))
    if type(known) is Const:
        return str(known.value)
    if type(value) is Obj:
        return ""
    numbers = [v.value for v in value.items if type(v) is Const and isinstance(v.value, (int, float))]
    if len(numbers) == len(value.items) > 1 and value.rest is None and value.kind != "set":
        if numbers == sorted(numbers):
            return "ascending"
        return "descending" if numbers == sorted(numbers, reverse=True) else ""
    return ""


def note_yields(m: Machine, generator: Obj, yielded: list[Value]) -> None:
    """A generator has yielded known numbers in order: it goes on like this."""
    order = of(m, Sequence_(yielded))
    if order:
        m.memo["order", generator.serial] = Const(order)


def reverse(order: str) -> str:
    return _OPPOSITE.get(order, "")


def opposite(m: Machine, value: Value | None) -> str:
    return reverse(of(m, value))


def part_of(m: Machine, value: Value | None) -> Part:
    """Which part of each element is in order: an item of tuples (`enumerate`, `zip`), a field of records."""
    known = m.memo.get(("ordered-part", value.serial)) if type(value) is Sequence_ else None
    return known if isinstance(known, (int, str)) else None


def sorted_by(key: Value | None, values: list[Value]) -> tuple[str, Part]:
    """In which order `key` puts elements, and the part of them that it looks at; no order when not known."""
    if key is None or is_none(key):
        return "ascending", _first_field(values)
    if isinstance(key, Obj) and key.cls in ("operator.attrgetter", "operator.itemgetter"):
        given = key.fields["given"].items
        known = given[0].value if len(given) == 1 and isinstance(given[0], Const) else None
        return ("ascending", known) if isinstance(known, (int, str)) else ("", None)
    if isinstance(key, Function) and isinstance(key.node, ast.Lambda) and len(key.node.args.args) == 1:
        return _of_lambda(key.node)
    return "", None


def _first_field(values: list[Value]) -> Part:
    """What records that Python can compare are ordered by."""
    parts = [part for value in values for part in alternatives(value)]
    classes = {part.cls for part in parts if isinstance(part, Obj) and not isinstance(part.cls, str)}
    if len(classes) != 1 or len(parts) == 0:
        return None
    info = classes.pop()
    return next(iter(info.record_fields()), None) if info.is_record else None


def _of_lambda(node: ast.Lambda) -> tuple[str, Part]:
    body, name, order = node.body, node.args.args[0].arg, "ascending"
    if isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub):
        body, order = body.operand, "descending"
    if isinstance(body, ast.Name) and body.id == name:
        return order, None
    if isinstance(body, (ast.Attribute, ast.Subscript)) and isinstance(body.value, ast.Name):
        if body.value.id != name:
            return "", None
        if isinstance(body, ast.Attribute):
            return order, body.attr
        if isinstance(body.slice, ast.Constant) and isinstance(body.slice.value, int):
            return order, body.slice.value
    return "", None


@per_node
def counted(loop: ast.While) -> tuple[str, str]:
    """The name that a `while` loop counts up or down, once in each turn, and the order; empty when none."""
    steps = [step for node in walk(loop) if (step := _stepped(node))[1]]
    names = [part.id for part in walk(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    return steps[0] if len(steps) == 1 and names.count(steps[0][0]) == 1 else ("", "")


def _stepped(node: ast.AST) -> tuple[str, str]:
    """The name that a statement moves on (`n *= 2`, `n = min(2 * n, most)`), and where to."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return node.target.id, _DIRECTIONS.get(type(node.op), "")
    if (
        not isinstance(node, ast.Assign)
        or len(node.targets) != 1
        or not isinstance(node.targets[0], ast.Name)
    ):
        return "", ""
    name, value = node.targets[0].id, node.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max"):
        moving = [arg for arg in value.args if isinstance(arg, ast.BinOp)]
        value = moving[0] if len(moving) == 1 else value
    if not isinstance(value, ast.BinOp):
        return "", ""
    sides = [side for side in (value.left, value.right) if isinstance(side, ast.Name) and side.id == name]
    return (name, _DIRECTIONS.get(type(value.op), "")) if len(sides) == 1 else ("", "")


def note(m: Machine, value: Value, order: str, part: Part = None) -> None:
    """Remember the order of a sequence, also that nothing is known of it."""
    if isinstance(value, Sequence_):
        m.memo[("order", value.serial)] = Const(order)
        if part is not None:
            m.memo[("ordered-part", value.serial)] = part


def forget(m: Machine, value: Sequence_) -> None:
    """The elements have changed one by one."""
    m.memo.pop(("order", value.serial), None)


def keep_through(m: Machine, node: ast.expr, made: Sequence_, source: Value) -> None:
    """A comprehension over one ordered sequence whose element grows with the element it is made from."""
    clauses = getattr(node, "generators", [])
    element = getattr(node, "elt", None)
    if len(clauses) == 1 and isinstance(clauses[0].target, ast.Name) and isinstance(element, ast.expr):
        if _grows_with(element, clauses[0].target.id):
            note(m, made, of(m, source))


def _grows_with(element: ast.expr, name: str) -> bool:
    if isinstance(element, ast.Name):
        return element.id == name
    if not isinstance(element, ast.BinOp) or not isinstance(element.op, _GROWING):
        return False
    mentions = [
        any(isinstance(n, ast.Name) and n.id == name for n in walk(side))
        for side in (element.left, element.right)
    ]
    if mentions == [True, False]:
        return _grows_with(element.left, name)
    divides = isinstance(element.op, ast.FloorDiv)
    return mentions == [False, True] and not divides and _grows_with(element.right, name)
