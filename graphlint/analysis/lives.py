"""The life of a class: constructed, prepared, captured, then stepped; given instances as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.analysis import (
    captures,
    definitions,
    frameworks,
    functions,
    given_arguments,
    instances,
    names,
    stated_lives,
    stepping,
    subclasses,
    synthesis,
)
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.own_text import text_of
from graphlint.analysis.roles import captures_of_constructor, closes, is_recapture, methods_of, roles_of
from graphlint.analysis.roots import Root
from graphlint.analysis.values import (
    Change,
    Class,
    Obj,
    alternatives,
)
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


def live_class(m: Machine, root: Root, frame: Frame) -> None:
    value = names.module_attribute(m, root.module, root.qualname)
    for part in alternatives(value) if value is not None else ():
        for info in subclasses.lived_as(m, part.info) if isinstance(part, Class) else ():
            _live(m, info, frame)


def _live(m: Machine, info: ClassInfo, frame: Frame) -> None:
    for life in frameworks.lives_of(m, info):
        stated_lives.run(m, info, life, frame)
    owner = constructed(m, info, given_arguments.of_constructor(m, info), info.node)
    if owner is not None:
        _prepare_and_capture(m, owner, frame, info.node)
        stepping.step_object(m, owner, frame, info.node)
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
            stepping.call(m, owner, name, Change.CONFIG, frame, node)


def _step_inside(m: Machine, owner: Obj, info: ClassInfo, frame: Frame) -> None:
    """Call the public methods that others of the class call, where it captures graphs and replays none.

    `generate` calls `step` in a loop, and only in a later turn than those that are followed does it decode.
    """
    roles, methods = roles_of(m, owner), methods_of(info)
    entries = {*roles.prepare, *roles.capture, *roles.step, *captures_of_constructor(owner)}
    inner = [name for name in methods if not name.startswith("_") and name not in entries]
    driving = [name for name in inner if _takes_nothing(methods[name][1])]
    for names_ in (driving, driving, inner, inner):
        if captures.own(m) and not m.replays:
            stepping.call_each(m, owner, names_, frame, info.node, {})


def _takes_nothing(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method needs no arguments: it goes on with what others have brought."""
    wanted = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)
    return wanted <= 1 and None not in node.args.kw_defaults


def constructed(m: Machine, info: ClassInfo, arguments: Arguments, node: ast.AST) -> Obj | None:
    """An instance that the program makes; it stands for every mention of the class from now on."""
    made = instances.construct(m, info, arguments, Place(info.module, node, info.scope))
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
            stepping.call(m, owner, name, Change.CONFIG, frame, owner.cls.node)
    captures.abandon(m, depth)


def _prepare_and_capture(m: Machine, owner: Obj, frame: Frame, node: ast.AST) -> None:
    roles = roles_of(m, owner)
    for name in captures_of_constructor(owner) if owner.serial in m.deferred else ():
        stepping.call(m, owner, name, Change.CONFIG, frame, node)  # it was cut short before it came to this
    m.prepared[owner.serial] = set(roles.only_prepare)
    for name in [*roles.prepare, *roles.capture]:
        if name in roles.prepare or not is_recapture(m, owner, name):
            stepping.call(m, owner, name, Change.CONFIG, frame, node)
            m.prepared[owner.serial].add(name) if name in roles.capture else None
