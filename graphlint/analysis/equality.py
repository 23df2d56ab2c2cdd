"""When values are certainly the same, equal, or found in a container; and when certainly not."""

from __future__ import annotations

from graphlint.analysis.classes import EnumMember
from graphlint.analysis.identities import identity_of
from graphlint.analysis.symbols import symbols_in
from graphlint.analysis.values import (
    Class,
    Const,
    Function,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
)

_OPEN = frozenset({Unknown, Host})


def identical(left: Value, right: Value) -> bool | None:
    """`left is right` for None, booleans, enum members, classes and objects."""
    if type(left) is not Union and type(right) is not Union:
        return _identical(left, right)
    answers = {_identical(a, b) for a in alternatives(left) for b in alternatives(right)}
    return answers.pop() if len(answers) == 1 else None


def _identical(left: Value, right: Value) -> bool | None:
    if type(left) in _OPEN or type(right) in _OPEN:
        known, other = (left, right) if type(right) in _OPEN else (right, left)
        if type(other) is Host and is_none(known):
            return False if other.kind in ("int", "float", "str", "bool") else None
        return None
    if type(left) is Const and type(right) is Const:
        return left.value is right.value or (
            type(left.value) is type(right.value) and left.value == right.value
        )
    if type(left) is Const or type(right) is Const:
        return False
    ids = identity_of(left), identity_of(right)
    return ids[0] == ids[1] if None not in ids else None


def equal(left: Value, right: Value) -> bool | None:
    """`left == right` where both are known well enough."""
    if type(left) is not Union and type(right) is not Union:
        return _equal(left, right)
    answers = {_equal(a, b) for a in alternatives(left) for b in alternatives(right)}
    return answers.pop() if len(answers) == 1 else None


def _equal(left: Value, right: Value) -> bool | None:
    if type(left) is Const and type(right) is Const:
        return _equal_constants(left.value, right.value)
    identity = identity_of(left)
    if identity is not None and identity == identity_of(right):
        return True
    return _certainly_unequal(left, right)


def _equal_constants(left: object, right: object) -> bool | None:
    if isinstance(left, EnumMember) is not isinstance(right, EnumMember):
        member = left if isinstance(left, EnumMember) else right
        assert isinstance(member, EnumMember)
        return None if member.info.is_number_enum else False
    return bool(left == right)


def _certainly_unequal(left: Value, right: Value) -> bool | None:
    """False (not equal) for a constant against an object or container, None against anything known."""
    for one, other in ((left, right), (right, left)):
        if type(one) is not Const or isinstance(other, (Unknown, Const)):
            continue
        if one.value is None or isinstance(other, (Class, Function, Sequence_, Mapping)):
            return False
        if type(other) is Obj and not isinstance(other.cls, str) and other.cls.find("__eq__") is None:
            return False
    return None


def contains(where: Value, item: Value) -> bool | None:
    """`item in where` for containers whose content is known."""
    identity = identity_of(item)
    if type(where) is Mapping:
        return _mapping_contains(where, item, identity)
    if type(where) is Sequence_:
        answers = [equal(item, element) for element in where.items]
        if True in answers:
            return True
        return False if where.rest is None and None not in answers else None
    if type(where) is Const and type(item) is Const and isinstance(where.value, str):
        return str(item.value) in where.value
    return None


def _mapping_contains(where: Mapping, item: Value, identity: object) -> bool | None:
    if not where.fields:
        return False
    if identity is not None and identity in where.fields:
        return True
    if Mapping.REST in where.fields or identity is None:
        return None
    if isinstance(item, (Const, Obj)) and all(key[0] in ("const", "object") for key in where.fields):
        return False
    return False if _streams_differ(identity, where) else None


def is_seen_size(where: Value, item: Value) -> bool:
    """Whether a size is looked for among sizes of the same kind: warm-up has had those that are captured."""
    kind = _size_kind(identity_of(item))
    return kind is not None and type(where) is Mapping and any(_size_kind(k) == kind for k in where.fields)


def _size_kind(identity: object) -> object:
    """Which dimension of some tensor an identity speaks of; tuples of such by their parts."""
    match identity:
        case ("host", ("size", _, dimension)):
            return ("size", dimension)
        case ("tuple", tuple(parts)):
            kinds = [_size_kind(part) or part for part in parts]
            return tuple(kinds) if any(_size_kind(part) for part in parts) else None
    return None


def _streams_differ(identity: object, where: Mapping) -> bool:
    """Whether keys differ only because each names another stream."""
    return _names_stream(identity) and all(map(_names_stream, where.fields))


def _names_stream(identity: object) -> bool:
    return any(isinstance(part, str) and "stream" in part for part in symbols_in(identity))
