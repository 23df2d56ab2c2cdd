"""Numbers of a call that replays a graph which was captured with those of another call.

`def __call__(self, x, **options)` captures `self.fn(x, **options)` in the first call. The later ones copy
`x` into the input and replay: what they say in `options` is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphlint.analysis import graph_keys, ignored, own_text, signatures, tensor_ops
from graphlint.analysis.frames import Frame
from graphlint.analysis.graphs import Capture, HostUse, Item, Read
from graphlint.analysis.values import Change, Const, Host, Mapping, Sequence_, Value
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def otherwise(m: Machine, record: Capture, use: HostUse) -> bool:
    """Whether a call in progress was given another number than the one that captured the graph."""
    if record.graph is not None and record.graph.fields.get("open key"):
        return False
    if tensor_ops.is_key(graph_keys.keys_of(record), use.value):
        return False
    reads = [record.host_reads[cell] for cell in use.cells & record.host_reads.keys()]
    pairs = [(frame, ignored.frame_at_capture(record, frame)) for frame in m.frames]
    return any(_is_other(frame, then, read) for frame, then in pairs if then is not None for read in reads)


def _is_other(frame: Frame, then: Frame, read: Read) -> bool:
    assert frame.function is not None
    label = _label(read.key)
    at_capture, now = _given(then).get(label), _given(frame).get(label)
    if at_capture is None or now is None or at_capture[0] is not read.value:
        return False
    return now[1] not in _considered(frame.function.node) and _differs(at_capture[0], now[0])


def _label(key: Any) -> object:
    """What an argument is called in a call: its name or its position."""
    if isinstance(key, tuple) and key[:1] == ("const",):
        return key[1]
    return key.index if isinstance(key, Item) else key


def _given(frame: Frame) -> dict[object, tuple[Value, str]]:
    """The arguments of a call by name or position, each with the name by which the function has it."""
    assert frame.function is not None
    spec, held = frame.function.node.args, frame.env.fields
    found: dict[object, tuple[Value, str]] = {}
    for arg in signatures.named(spec):
        if isinstance(value := held.get(arg.arg), Value):
            found[arg.arg] = (value, arg.arg)
    more = held.get(spec.kwarg.arg) if spec.kwarg is not None else None
    if spec.kwarg is not None and isinstance(more, Mapping):
        found |= {k.value: (value, spec.kwarg.arg) for k, value in more.entries() if isinstance(k, Const)}
    rest = held.get(spec.vararg.arg) if spec.vararg is not None else None
    if spec.vararg is not None and isinstance(rest, Sequence_):
        found |= {index: (value, spec.vararg.arg) for index, value in enumerate(rest.items)}
    return found


def _differs(then: Value, now: Value) -> bool:
    """Whether two numbers are certainly, or as a rule, not the same."""
    if isinstance(then, Const) and isinstance(now, Const):
        return None not in (then.value, now.value) and then.value != now.value
    numbers = [value for value in (then, now) if isinstance(value, Host)]
    return (
        bool(numbers)
        and all(value.change is Change.CHANGING for value in numbers)
        and _are_numbers(then, now)
    )


def _are_numbers(*values: Value) -> bool:
    return all(
        isinstance(v, Host) or (isinstance(v, Const) and isinstance(v.value, (int, float))) for v in values
    )


@summary
def _considered(function: ast.AST) -> frozenset[str]:
    """The names that a function itself tests, binds or makes a key of: it may know what it does with them.

    So may whatever it hands them to in every call; what it does on one way only may be the capture.
    """
    parts = list(walk(function))
    tests = [part.test for part in parts if isinstance(part, (ast.If, ast.IfExp, ast.While, ast.Assert))]
    keys = [part.slice for part in parts if isinstance(part, ast.Subscript)]
    chosen = _names([*tests, *keys])
    plain = [part for part in parts if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)]
    made = [part.value for part in plain if _names(part.targets) & chosen]
    return frozenset(chosen | _names(made) | own_text.names_bound(function) | _named_always(function))


def _named_always(function: ast.AST) -> set[str]:
    """The names that a function mentions in every call, but for what its loops go over."""
    pending, found = list(getattr(function, "body", ())), set()
    while pending:
        part = pending.pop()
        if isinstance(part, (ast.If, ast.IfExp)):
            continue
        if isinstance(part, ast.Name):
            found.add(part.id)
        inner = ast.iter_child_nodes(part)
        pending += [each for each in inner if not (isinstance(part, ast.For) and each is part.iter)]
    return found


def _names(trees: Sequence[ast.AST]) -> set[str]:
    return {part.id for tree in trees for part in ast.walk(tree) if isinstance(part, ast.Name)}
