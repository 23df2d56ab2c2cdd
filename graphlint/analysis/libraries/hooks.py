"""Hooks of modules: kept where they are registered, run whenever the module is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphlint.analysis import calls, late_changes
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, Const, Mapping, Obj, Sequence_, Unknown, Value, alternatives, join

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

FORWARD, BEFORE, BACKWARD = "?hooks", "?pre-hooks", "?backward-hooks"
HANDLE = "torch.utils.hooks.RemovableHandle"


def register(call: Call) -> Value:
    """`register_forward_hook(hook)` and `register_forward_pre_hook(hook)`."""
    handle = Obj(HANDLE, call.place)
    hook = call.get(0, "hook")
    if isinstance(call.owner, Obj) and hook is not None:
        key = BEFORE if "pre_hook" in call.name else FORWARD
        keep(call.m, call.owner, key, hook, handle, with_kwargs=call.flag(99, "with_kwargs") is True)
        late_changes.note(call.m, late_changes.HOOK, call.place, [call.owner.serial], handle)
    return handle


def keep(m: Machine, owner: Obj, key: str, hook: Value, handle: Obj, *, with_kwargs: bool = False) -> None:
    """Put a hook to those of a module, until its handle removes it."""
    entry = Sequence_([hook, Const(with_kwargs), handle], "tuple")
    m.heap.write(owner.fields, key, Sequence_((*_held(owner, key), entry)))
    handle.fields.update({"owner": owner, "key": key})


def first_place(owner: Value) -> Place | None:
    """Where the first of those hooks of a module was registered that keep it from being graphed."""
    if not isinstance(owner, Obj):
        return None
    entries = [entry for key in (FORWARD, BEFORE, BACKWARD) for entry in _held(owner, key)]
    handles = [entry.items[2] for entry in entries if isinstance(entry, Sequence_)]
    return next((each.site for each in handles if isinstance(each, Obj)), None)


def _held(owner: Obj, key: str) -> tuple[Value, ...]:
    """The hooks that a module has, or may have where it is one of several."""
    held = owner.fields.get(key)
    lists = [part for part in alternatives(held) if isinstance(part, Sequence_)] if held is not None else []
    return tuple(dict.fromkeys(entry for each in lists for entry in each.items))


@model(f"{HANDLE}.remove")
def _remove(call: Call) -> Value:
    handle = call.this
    handle.fields["removed"] = Const(True)
    owner = handle.fields.get("owner")
    if isinstance(owner, Obj):
        key = handle.fields["key"]
        left = [e for e in _held(owner, key) if isinstance(e, Sequence_) and e.items[2] is not handle]
        call.m.heap.write(owner.fields, key, Sequence_(left))
    return NONE


def around(
    m: Machine, owner: Obj, arguments: Arguments, place: Place, frame: Frame, forward: Callable[[], Value]
) -> Value:
    """Run a module's forward between its hooks; a hook's result that is not None replaces the output."""
    given = Sequence_(arguments.args, "tuple", arguments.more)
    named = Mapping()
    for name, value in arguments.kwargs.items():
        named.fields[("const", name)] = (Const(name), value)
    for hook, with_kwargs in _hooks(owner, BEFORE):
        calls.call(
            m, hook, Arguments([owner, given, *([named] if with_kwargs else [])]), place.node, frame, place
        )
    output = forward()
    for hook, with_kwargs in _hooks(owner, FORWARD):
        passed = [owner, given, *([named] if with_kwargs else []), output]
        output = _replaced(output, calls.call(m, hook, Arguments(passed), place.node, frame, place))
    return output


def _hooks(owner: Obj, key: str) -> list[tuple[Value, bool]]:
    entries = [e.items for e in _held(owner, key) if isinstance(e, Sequence_)]
    return [(items[0], isinstance(items[1], Const) and bool(items[1].value)) for items in entries]


def _replaced(output: Value, result: Value) -> Value:
    if result is NONE or isinstance(result, Unknown):
        return output
    return join(output, result)
