"""When two values are certainly equal: identities for the keys of dicts and for comparisons."""

from __future__ import annotations

from typing import Any

from graphlint.analysis.symbols import unique
from graphlint.analysis.values import Class, Const, External, Host, Obj, Sequence_, Tensor, Unknown, Value


def identity_of(value: Value) -> Any:
    """A hashable identity for dict keys and equality: equal identities are equal values.

    None when nothing is known about equality.
    """
    if type(value) is Const:
        try:
            hash(value.value)
        except TypeError:
            return None
        return ("const", value.value)
    if type(value) is Host:
        return ("host", value.symbol)
    if type(value) is Sequence_ and value.kind == "tuple" and value.rest is None:
        return _identity_of_tuple(value)
    if type(value) is Obj and value.cls == "torch.device":
        # Programs compute on one device of a kind, and where nothing else is known, on the GPU.
        return ("device", value.fields.get("type") or "cuda")
    if type(value) is Obj and value.cls == "torch.Size":
        return ("host", unique(("shape", value.serial)))  # other tensors may have the same shape
    if isinstance(value, (Obj, Tensor)):
        return ("object", value.serial if type(value) is Obj else value.storage.serial)
    if type(value) is Class:
        return ("class", value.info.qualname)
    if type(value) is External:
        return ("external", value.name)
    if type(value) is Unknown:
        return ("host", ("unknown", value.serial))
    return None


def _identity_of_tuple(value: Sequence_) -> Any:
    if value.identity is None or value.identity[0] is not value.items:
        parts = tuple(map(identity_of, value.items))
        value.identity = (value.items, None if None in parts else ("tuple", unique(parts)))
    return value.identity[1]
