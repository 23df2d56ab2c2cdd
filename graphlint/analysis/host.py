"""What the tables know of the host's libraries: their functions, and the classes of what these return.

A value of such a class is an `Unknown` with that class in `typed`: nothing is claimed of what it holds, and
calls of its methods lead somewhere.
"""

from __future__ import annotations

from graphlint.analysis.libraries.registry import MODELS
from graphlint.analysis.values import Change, Const, External, Host, Obj, Unknown, Value
from graphlint.rules import operations

TEXT = "str"


def is_known(dotted: str) -> bool:
    """Whether a function is one of a library of the host, or listed by itself."""
    root = dotted.partition(".")[0]
    return root in operations.listed("host_libraries") or dotted in operations.mapped("class_of_result")


def is_native(dotted: str) -> bool:
    """Whether a method runs native code, of which nothing else is known."""
    return dotted.rpartition(".")[0] in operations.listed("native_owners")


def is_method(cls: str, name: str) -> bool:
    """Whether instances of a class of the host's libraries have a method of this name."""
    dotted = f"{cls}.{name}"
    return dotted in operations.mapped("class_of_result") or (cls == "logging.Logger" and dotted in MODELS)


def class_of_result(dotted: str) -> str:
    """The class of what a function returns; empty where it is not listed."""
    found = operations.mapped("class_of_result").get(dotted, "")
    return str(found)


def class_of_annotation(dotted: str) -> str:
    """The class that an annotation names, where programs call methods of it; else empty."""
    classes = {*operations.mapped("class_of_result").values(), *operations.listed("native_owners")}
    return dotted if dotted in classes else ""


def member(owner: Unknown, name: str) -> Value | None:
    """What a value has by its class, or what only text has; None where nothing says so."""
    dotted = f"{owner.typed}.{name}"
    if owner.typed == TEXT or name in operations.listed("text_only"):
        return External(f"host.{name}", owner) if f"host.{name}" in MODELS else None
    if dotted in operations.mapped("class_of_result") or owner.typed in operations.listed("native_owners"):
        return External(dotted, owner)
    cls = operations.mapped("class_of_attribute").get(dotted)
    return Unknown(f"attribute `{name}` of `{owner.typed}`", owner.change, str(cls)) if cls else None


def is_text(value: Value) -> bool:
    """Whether a value certainly is text."""
    if isinstance(value, Const):
        return isinstance(value.value, str)
    return (isinstance(value, Host) and value.kind == TEXT) or (
        isinstance(value, Unknown) and value.typed == TEXT
    )


def joined_path(left: Value, right: Value, change: Change) -> Value | None:
    """`folder / name`: a path again; None where neither side is one."""
    if any(_class_of(side) == "pathlib.Path" for side in (left, right)):
        return Unknown("path", change, "pathlib.Path")
    return None


def _class_of(value: Value) -> object:
    return value.typed if isinstance(value, Unknown) else value.cls if isinstance(value, Obj) else None
