"""Methods of text: folded where the text is known, since names of layers and modes decide branches."""

from __future__ import annotations

from graphlint.analysis import arithmetic
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parts import cells_of, change_of
from graphlint.analysis.values import Change, Const, Host, Sequence_, Unknown, Value

_TEXTS = (
    "upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "replace", "removeprefix",
    "removesuffix", "zfill", "casefold", "swapcase",
)  # fmt: skip
_TESTS = ("startswith", "endswith", "isdigit", "isalpha", "isalnum", "isidentifier", "isupper", "islower")
_NUMBERS = ("find", "rfind", "index", "count")
_PARTS = ("split", "rsplit", "partition", "rpartition", "splitlines")

_LONGEST = 1000  # of a name, and of what it is padded to


@model(*[f"host.{name}" for name in (*_TEXTS, *_TESTS, *_NUMBERS, *_PARTS)])
def _method(call: Call) -> Value:
    name = call.name.rpartition(".")[2]
    if not _is_text(call.owner):
        return _untold(name, change_of(call.owner) if call.owner is not None else Change.CONFIG)
    known = _folded(call, name)
    if known is not None:
        return known
    if name in _PARTS:
        return Sequence_((), "list", Host("str"))
    kind = "bool" if name in _TESTS else "int" if name in _NUMBERS else "str"
    return arithmetic.derived(call.name, *_operands(call), kind=kind)


def _untold(name: str, change: Change) -> Value:
    """What a method gives of text that is not known: text, parts of it, or an answer."""
    if name not in _PARTS:
        return Unknown(f"result of `{name}`", change, "str" if name in _TEXTS else "")
    part = Unknown("part of a text", change, "str")
    if name.endswith("partition"):
        return Sequence_([part] * 3, "tuple", None, change)
    return Sequence_((), "list", part, change)


def _is_text(value: Value | None) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, str)
    return isinstance(value, Host) and value.kind in ("str", "any")


def _operands(call: Call) -> list[Value]:
    return [*([call.owner] if call.owner is not None else []), *call.args]


def _folded(call: Call, name: str) -> Value | None:
    texts = [_plain(value) for value in _operands(call)]
    if (
        None in texts
        or not all(map(_is_handy, texts))
        or call.arguments.kwargs
        or call.arguments.more is not None
    ):
        return None
    try:
        result = getattr(str, name)(*texts)
    except (TypeError, ValueError):
        return None
    if isinstance(result, (list, tuple)):
        return Sequence_([Const(part) for part in result], "list" if isinstance(result, list) else "tuple")
    return Const(result, frozenset().union(*map(cells_of, _operands(call))))


def _is_handy(operand: object) -> bool:
    """Whether an operand makes no text that would fill the memory, as `zfill` and `replace` can."""
    if isinstance(operand, str):
        return len(operand) <= _LONGEST
    return not isinstance(operand, int) or abs(operand) <= _LONGEST


def _plain(value: Value) -> object:
    """The text, number or tuple of texts that a value certainly is; None when it is not known."""
    if isinstance(value, Const):
        return str(value.value) if isinstance(value.value, str) else value.value
    if isinstance(value, Sequence_) and value.kind == "tuple" and value.rest is None:
        parts = tuple(_plain(part) for part in value.items)
        return None if None in parts else parts
    return None
