"""Which parts of a program are run, and in which order: construct, capture, then step after step.

Every root (see `roots`) gets a machine of its own. A class is lived through: constructor, what prepares
it, what captures, then everything else in the order of the text, and what replays again.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from graphlint.analysis import (
    binding,
    calls,
    captures,
    definitions,
    functions,
    generators,
    graph_keys,
    instances,
    names,
    outputs,
    parallel,
    setups,
    statements,
    subclasses,
    synthesis,
    tensor_ops,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.identities import identity_of
from graphlint.analysis.own_text import text_of
from graphlint.analysis.parts import tensors_in, tensors_of_record
from graphlint.analysis.roles import captures_of_constructor, closes, is_recapture, methods_of, roles_of
from graphlint.analysis.roots import Root, is_constructed, is_run_by_script
from graphlint.analysis.values import (
    Change,
    Class,
    Const,
    Function,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Unknown,
    Value,
    alternatives,
    join,
)

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def run(m: Machine, root: Root) -> None:
    """Run one root from a fresh state."""
    frame = Frame(root.module, m.env_of(root.module), "<module>")
    m.frames.append(frame)
    m.goal, m.goals = root.node, root.goals
    try:
        m.script = isinstance(root.node, ast.Module) or is_run_by_script(root)
        m.is_part = is_constructed(root)
        if isinstance(root.node, ast.Module):
            statements.execute(m, root.node.body, frame)
        elif isinstance(root.node, ast.ClassDef):
            _live_class(m, root, frame)
        else:
            _run_function(m, root, frame)
        _run_uncalled(m, frame)
        parallel.look_again(m)
    finally:
        m.frames.pop()
        while m.captures:
            m.captures.pop()


def waits_for_arguments(root: Root) -> bool:
    """Whether a definition captures by its text, or leads to what does, and has flags that are off."""
    if isinstance(root.node, ast.Module) or not (
        text_of(root.node).names & root.goals or text_of(root.node).captures
    ):
        return False
    node = root.node
    if isinstance(node, ast.ClassDef):
        inits = (s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "__init__")
        init = next(inits, None)
        if init is None:
            return False
        node = init
    defaults = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
    return any(isinstance(each, ast.Constant) and _is_flag(Const(each.value)) for each in defaults)


def _run_function(m: Machine, root: Root, frame: Frame) -> None:
    value = names.module_attribute(m, root.module, root.qualname)
    if value is None or isinstance(value, Unknown):
        return
    result = calls.call(m, value, _arguments(m, value, Change.CONFIG), root.node, frame)
    frame.returned.append(result)  # whoever calls the root holds all of it
    _use_result(m, result, frame, root.node)


def _run_uncalled(m: Machine, frame: Frame) -> None:
    """Functions defined inside others that capture and that nobody called: hooks, callbacks, tasks."""
    for function in m.nested:
        if id(function.node) not in m.executed:
            calls.call(m, function, _arguments(m, function, Change.CONFIG), function.node, frame)


def _arguments(m: Machine, value: Value, change: Change) -> Arguments:
    """Arguments for a callable that nobody calls: by annotation, of the given changeability."""
    function = _unwrapped(value)
    arguments = Arguments()
    if function is None:
        return arguments
    spec = function.node.args
    parameters = [*spec.posonlyargs, *spec.args]
    if function.self_value is not None and parameters:
        parameters = parameters[1:]
    for arg in [*parameters, *spec.kwonlyargs]:
        place = Place(function.module, arg, function.qualname)
        default = (function.defaults or {}).get(arg.arg)
        if change is Change.CONFIG and default is not None:
            if m.open_defaults and _is_flag(default):
                arguments.kwargs[arg.arg] = join(default, _other_than(m, function, arg, default, place))
            continue
        arguments.kwargs[arg.arg] = _given(m, function, arg, change, place)
    if spec.kwarg is not None and change is Change.CHANGING:
        arguments.more_kwargs = Unknown("** argument", change)
    if spec.vararg is not None:
        arguments.more = _given(m, function, spec.vararg, change, Place.of(function))
        return _positional(arguments, parameters)
    return arguments


def _is_flag(default: Value) -> bool:
    return isinstance(default, Const) and (default.value is None or isinstance(default.value, bool))


def _other_than(m: Machine, function: Function, arg: ast.arg, default: Value, place: Place) -> Value:
    """What a caller may pass for a parameter whose default says that something is off."""
    assert isinstance(default, Const)
    if isinstance(default.value, bool):
        return Const(not default.value)
    return binding.synthesised(m, function, arg, Change.CONFIG, place)


def _positional(arguments: Arguments, parameters: list[ast.arg]) -> Arguments:
    """With `*args` the named parameters must be given by position."""
    for arg in parameters:
        if arg.arg in arguments.kwargs:
            arguments.args.append(arguments.kwargs.pop(arg.arg))
    return arguments


def _given(m: Machine, function: Function, arg: ast.arg, change: Change, place: Place) -> Value:
    default = (function.defaults or {}).get(arg.arg)
    if arg.annotation is None and isinstance(default, Const) and default.value is not None:
        return Host(type(default.value).__name__, change)
    return binding.synthesised(m, function, arg, change, place)


def _unwrapped(value: Value) -> Function | None:
    """The project function behind decorators that keep it."""
    for part in alternatives(value):
        if isinstance(part, Function):
            return part
        if isinstance(part, Obj):
            held = part.fields.get("wrapped")
            if isinstance(held, Value):
                return _unwrapped(held)
    return None


def _use_result(m: Machine, result: Value, frame: Frame, node: ast.AST, depth: int = 2) -> None:
    """Go on with what a root returned: call closures twice, run generators, step objects that replay."""
    for part in alternatives(result):
        _drive(m, part)
        if isinstance(part, Function) and part.env is not None:
            for _ in range(2):
                m.step += 1
                m.timeline.forget()  # what calls it may wait in between
                calls.call(m, part, _arguments(m, part, Change.CHANGING), node, frame)
        elif isinstance(part, Obj) and isinstance(part.cls, ClassInfo) and _class_holds(part.cls):
            _step_object(m, part, frame, node)
        elif depth and isinstance(part, Sequence_):
            for item in part.items:
                _use_result(m, item, frame, node, depth - 1)
        elif depth and isinstance(part, Mapping):
            for _, item in part.entries():
                _use_result(m, item, frame, node, depth - 1)


def _class_holds(info: ClassInfo) -> bool:
    return any(text_of(cls.node).holds for cls in info.mro())


# classes


def _live_class(m: Machine, root: Root, frame: Frame) -> None:
    value = names.module_attribute(m, root.module, root.qualname)
    for part in alternatives(value) if value is not None else ():
        for info in subclasses.lived_as(m, part.info) if isinstance(part, Class) else ():
            _live(m, info, frame)


def _live(m: Machine, info: ClassInfo, frame: Frame) -> None:
    owner = _constructed(m, info, frame, info.node)
    if owner is not None:
        _prepare_and_capture(m, owner, frame, info.node)
        _step_object(m, owner, frame, info.node)
        _capture_rest(m, owner, info, frame)
        _step_inside(m, owner, info, frame)
    for node in info.node.body:
        if isinstance(node, ast.ClassDef) and text_of(node).captures:
            inner = definitions.define_class(m, node, definitions.class_frame(m, info))
            if isinstance(inner, Class):
                _live(m, inner.info, frame)


def _capture_rest(m: Machine, owner: Obj, info: ClassInfo, frame: Frame) -> None:
    """Methods that capture and that nobody called so far: targets of threads, static ones, callbacks."""
    for name, (_, node) in methods_of(info).items():
        if text_of(node).captures and id(node) not in m.executed:
            _call(m, owner, name, Change.CONFIG, frame, node)


def _step_inside(m: Machine, owner: Obj, info: ClassInfo, frame: Frame) -> None:
    """Call the public methods that others of the class call, where graphs are captured and none is replayed.

    `generate` calls `step` in a loop, and only in a later turn than those that are followed does it decode.
    """
    roles, methods = roles_of(m, owner), methods_of(info)
    entries = {*roles.prepare, *roles.capture, *roles.step, *captures_of_constructor(owner)}
    inner = [name for name in methods if not name.startswith("_") and name not in entries]
    driving = [name for name in inner if _takes_nothing(methods[name][1])]
    for names_ in (driving, driving, inner, inner):
        if m.finished and not m.replays:
            _steps(m, owner, names_, frame, info.node, {})


def _takes_nothing(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method needs no arguments: it goes on with what others have brought."""
    wanted = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)
    return wanted <= 1 and None not in node.args.kw_defaults


def _constructed(m: Machine, info: ClassInfo, frame: Frame, node: ast.AST) -> Obj | None:
    found = info.find("__init__")
    arguments = Arguments()
    if found is not None:
        where, method = found
        scratch = Obj(info)
        function = definitions.method_value(m, where, method, scratch)
        arguments = _arguments(m, function, Change.CONFIG)
    place = Place(info.module, node, info.scope)
    made = instances.construct(m, info, arguments, place)
    if isinstance(made, Obj):
        m.instances[id(info.node)] = made
        synthesis.assume(m, made)
        return made
    return None


def capture_given(m: Machine, owner: Obj) -> None:
    """Bring an instance that a root is given to where its graphs are captured."""
    assert isinstance(owner.cls, ClassInfo)
    if text_of(owner.cls.node).captures and len(m.frames) < m.MAX_DEPTH // 2:
        frame = functions.top_frame(m, owner.cls)
        m.frames.append(frame)
        depth = len(m.captures)
        try:
            _prepare_and_capture(m, owner, frame, owner.cls.node)
            _close_again(m, owner, frame, depth)
        finally:
            m.frames.pop()


def _close_again(m: Machine, owner: Obj, frame: Frame, depth: int) -> None:
    """End what a method of a given instance has begun to capture: the root's own code is no part of it."""
    assert isinstance(owner.cls, ClassInfo)
    for name in roles_of(m, owner).step:
        if len(m.captures) > depth and closes(owner, [name]):
            _call(m, owner, name, Change.CONFIG, frame, owner.cls.node)
    captures.abandon(m, depth)


def _prepare_and_capture(m: Machine, owner: Obj, frame: Frame, node: ast.AST) -> None:
    roles = roles_of(m, owner)
    for name in captures_of_constructor(owner) if owner.serial in m.deferred else ():
        _call(m, owner, name, Change.CONFIG, frame, node)  # it was cut short before it came to this
    m.prepared[owner.serial] = set(roles.only_prepare)
    for name in [*roles.prepare, *roles.capture]:
        if name in roles.prepare or not is_recapture(m, owner, name):
            _call(m, owner, name, Change.CONFIG, frame, node)
            m.prepared[owner.serial].add(name) if name in roles.capture else None


def _step_object(m: Machine, owner: Obj, frame: Frame, node: ast.AST) -> None:
    """Step after step in text order, then what replays once more.

    What captures again is a step of its own: only when it has had its turn is a replay judged. Where the
    first step captures on demand, everything is done once more on what it captured.
    """
    roles = roles_of(m, owner)
    prepared = m.prepared.get(owner.serial, set())
    again = [name for name in roles.capture if name not in prepared]
    steps = [name for name in roles.step if name not in prepared]
    before, given = len(m.finished), dict[str, Arguments]()
    if again:
        _steps(m, owner, roles.replay, frame, node, given)
        order = list(methods_of(owner.cls)) if isinstance(owner.cls, ClassInfo) else []
        plain = [name for name in order if name in {*steps, *again} - {*roles.replay}]
        _steps(m, owner, [*plain, *roles.replay], frame, node, given)
        return
    _steps(m, owner, steps, frame, node, given)
    set_up = m.prepared.get(owner.serial, set())
    if not set_up.isdisjoint({*steps} - {*roles.replay}):
        m.visits.clear()  # what was done often to set the object up is served from now on
    through = [name for name in steps if name in m.replaying.get(owner.serial, ()) and name not in set_up]
    replaying, counted = roles.replay or through, m.counted
    _steps(m, owner, replaying, frame, node, given)
    _serve_others(m, owner, replaying, frame, node, given)
    if m.counted > counted:  # something is done in some rounds only: see what the round after it finds
        _steps(m, owner, replaying, frame, node, given)
    readers = _readers_of_kept(m, owner, steps)
    _steps(m, owner, readers, frame, node, given)
    if len(m.finished) > before:
        plain = [name for name in steps if name not in {*roles.replay, *set_up}]
        plain = [
            name for name in plain if not setups.comes_before(m, name, m.capturing.get(owner.serial, ()))
        ]
        _steps(m, owner, plain, frame, node, given)
        _steps(m, owner, roles.replay, frame, node, given, same=_keys_of_graphs(m))


def _serve_others(
    m: Machine,
    owner: Obj,
    names: Sequence[str],
    frame: Frame,
    node: ast.AST,
    given: dict[str, Arguments],
) -> None:
    """Sessions that the program hands out are served in turn: each comes back as it was left."""
    called = [name for name in names if name in given]
    brought = [v for name in called for v in given[name].all() if isinstance(v, Obj)]
    sessions = [(each.fields, dict(each.fields)) for each in brought if _keeps_outputs(m, each)]
    if sessions:
        _steps(m, owner, called, frame, node, given)
        for fields, left in sessions:
            fields.update(left)
        _steps(m, owner, called, frame, node, given)
    elif keys := _keys_of_kept(owner):
        _steps(m, owner, called, frame, node, given, same=keys)


def _keys_of_kept(owner: Obj) -> set[object]:
    """The names by which tables of an object keep outputs of graphs without a copy, as for sessions."""
    tables = [value for value in owner.fields.values() if isinstance(value, Mapping)]
    entries = [entry for table in tables for entry in table.entries() if isinstance(entry[0], Host)]
    held = [(key, t) for key, value in entries for t in tensors_of_record(value, 2)]
    return {identity_of(key) for key, t in held if t.kept is not None and t.storage.graph is not None}


def _keeps_outputs(m: Machine, value: Obj) -> bool:
    """Whether an object like those that the program hands out keeps outputs of a graph without a copy."""
    if value.cls not in m.handed_out:
        return False
    held = (t for v in value.fields.values() if isinstance(v, Value) for t in tensors_in(v))
    return any(tensor.kept is not None and tensor.storage.graph is not None for tensor in held)


def _readers_of_kept(m: Machine, owner: Obj, names: Sequence[str]) -> list[str]:
    """The methods that name a field which holds outputs of earlier replays: they read them after the last."""
    kept = {
        key
        for key, value in owner.fields.items()
        if isinstance(value, (Sequence_, Mapping)) and any(outputs.is_behind(t) for t in tensors_in(value, 2))
    }
    methods = methods_of(owner.cls) if kept and isinstance(owner.cls, ClassInfo) else {}
    return [name for name in names if name in methods and text_of(methods[name][1]).names & kept]


def _steps(
    m: Machine,
    owner: Obj,
    names: Sequence[str],
    frame: Frame,
    node: ast.AST,
    given: dict[str, Arguments],
    *,
    same: Set[object] = frozenset(),
) -> None:
    """Call methods one after another; arguments named in `same` are those of the first call again."""
    depth = len(m.captures)
    for index, name in enumerate(names):
        if not closes(owner, names[index:]):
            captures.abandon(m, depth)
        m.step += 1
        m.timeline.forget()
        result = _call(m, owner, name, Change.CHANGING, frame, node, given, same=same)
        for part in alternatives(result):
            if isinstance(part, Function) and part.env is not None:
                calls.call(m, part, _arguments(m, part, Change.CHANGING), node, frame)
    captures.abandon(m, depth)


def _call(
    m: Machine,
    owner: Obj,
    name: str,
    change: Change,
    frame: Frame,
    node: ast.AST,
    given: dict[str, Arguments] | None = None,
    *,
    same: Set[object] = frozenset(),
) -> Value:
    assert isinstance(owner.cls, ClassInfo)
    found = owner.cls.find(name)
    if found is None:
        return Unknown("method")
    info, method = found
    value = definitions.method_value(m, info, method, owner)
    place = Place(info.module, method, f"{info.scope}.{name}")
    arguments = _arguments(m, value, change)
    for argument in arguments.all() if change is Change.CHANGING else ():
        synthesis.renew(m, argument)
    if given is not None:
        first = given.setdefault(name, arguments)
        _repeat(arguments, first, same)
    opened, replays, born = len(m.captures), m.own_replays, Obj("call", place).serial
    before = len(m.finished)
    result = calls.call(m, value, arguments, method, frame, place)
    if m.own_replays > replays:
        m.replaying.setdefault(owner.serial, set()).add(name)
    if len(m.finished) > before:
        m.capturing.setdefault(owner.serial, set()).add(name)
    if any(not capture.lazy for capture in m.finished[before:]):  # every time: this sets the object up
        m.prepared.setdefault(owner.serial, set()).add(name)
    if len(m.captures) > opened:
        _close_captures(m, owner, opened, frame, place)
    m.handed_out |= {
        part.cls for part in alternatives(result) if isinstance(part, Obj) and part.serial > born
    }
    _drive(m, result)
    return result


def _drive(m: Machine, result: Value) -> None:
    """Run what a generator that nobody consumes would do for its consumer."""
    if isinstance(result, Obj) and result.cls == "generator" and generators.is_project(result):
        generators.drive(m, result, lambda item: Unknown("sent"))


def _close_captures(m: Machine, owner: Obj, opened: int, frame: Frame, place: Place) -> None:
    """What a method began is ended by its sibling at once: the work between them is done by callers."""
    assert isinstance(owner.cls, ClassInfo)
    for name, (_, node) in methods_of(owner.cls).items():
        names = text_of(node).names
        if "capture_end" in names and "capture_begin" not in names and len(m.captures) > opened:
            _call(m, owner, name, Change.CONFIG, frame, node)
    while len(m.captures) > opened:
        captures.end(m, place)


def _keys_of_graphs(m: Machine) -> set[object]:
    return {key for capture in m.finished for key in graph_keys.keys_of(capture)}


def _repeat(arguments: Arguments, first: Arguments, same: Set[object]) -> None:
    """Give those arguments that a table is asked for by the values that they had in an earlier call."""
    if not same:
        return
    for name, value in first.kwargs.items():
        if tensor_ops.is_key(same, value):
            arguments.kwargs[name] = value
    for index, value in enumerate(first.args):
        if tensor_ops.is_key(same, value):
            arguments.args[index] = value
