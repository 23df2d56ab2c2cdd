"""What statements do: assignment, branches, loops, `with`, `try`, definitions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from graphlint.analysis import (
    captures,
    conditions,
    contexts,
    deferral,
    expressions,
    functions,
    guards,
    idle_branches,
    indexing,
    loops,
    matching,
    names,
    once,
    outputs,
    own_text,
    pinned_numbers,
    refills,
    rounds,
    storing,
)
from graphlint.analysis.events import CaptureGuarded, Returned
from graphlint.analysis.frames import Frame
from graphlint.analysis.heap import Snapshot
from graphlint.analysis.parts import tensors_in
from graphlint.analysis.values import (
    NONE,
    Change,
    Const,
    Host,
    Mapping,
    Obj,
    Sequence_,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    is_none,
    join_all,
)
from graphlint.facts import looking
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.graphs import Capture
    from graphlint.analysis.machine import Machine


def execute(m: Machine, body: Sequence[ast.stmt], frame: Frame) -> None:
    """Run statements in order until one of them leaves the block."""
    for index, statement in enumerate(body):
        if not frame.reachable:
            return
        frame.statement = statement
        if isinstance(statement, ast.If):
            returns = bool(m.captures) and refills.returns_found(statement)
            if _if(m, statement, frame, body[index + 1 :] if returns else ()):
                return
            continue
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            handler(m, statement, frame)


def _expression(m: Machine, node: ast.Expr, frame: Frame) -> None:
    expressions.evaluate(m, node.value, frame)


def _assign(m: Machine, node: ast.Assign, frame: Frame) -> None:
    value = expressions.evaluate(m, node.value, frame)
    for target in node.targets:
        assign(m, target, value, frame, node)
        if isinstance(target, ast.Name):
            conditions.keep_test(target.id, node.value, value, frame)


def _annotated(m: Machine, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        value = expressions.evaluate(m, node.value, frame)
        assign(m, node.target, functions.typed(m, value, node.annotation, frame), frame, node)


def _augmented(m: Machine, node: ast.AugAssign, frame: Frame) -> None:
    target = _as_load(node.target)
    m.updating = True
    old = expressions.evaluate(m, target, frame)
    m.updating = False
    value = expressions.evaluate(m, node.value, frame)
    tensors = _tensors_of(old)
    for tensor in tensors:
        storing.in_place(m, tensor, node, frame, (value,))
    if tensors or (isinstance(old, Unknown) and old.reason == storing.DELETED):
        return  # memory stays what it is, and what is not there cannot be added to
    if isinstance(old, Sequence_) and isinstance(node.op, ast.Add):
        known, rest = loops.elements_of(m, value)
        indexing.extend(m, old, known, rest, node, frame)
        return
    result = expressions.binary(m, node, node.op, old, value, frame, augmented=True)
    if _counts_steps(m, node, result, frame):
        result = Host("int", Change.CHANGING)
        m.counted += 1
    assign(m, node.target, result, frame, node, augmented=True)


def _tensors_of(old: Value) -> list[Tensor]:
    """The tensors that a value is; none where it may be a number as well, which gets another name's value."""
    parts = [part for part in alternatives(old) if not (isinstance(part, Unknown) or is_none(part))]
    tensors = [part for part in parts if isinstance(part, Tensor)]
    return tensors if len(tensors) == len(parts) else []


def _counts_steps(m: Machine, node: ast.AugAssign, result: Value, frame: Frame) -> bool:
    """Whether eager code goes on to count in a field: it gets to numbers that the machine does not.

    The first time tells what is done at the beginning.
    """
    numbers = alternatives(result)
    is_number = all(isinstance(part, Const) and type(part.value) is int for part in numbers)
    if m.captures or not m.finished or not is_number or not isinstance(node.target, ast.Attribute):
        return False
    owner = conditions.quiet(m, node.target.value, frame)
    if not isinstance(owner, Obj):
        return False
    if len(numbers) > 1 or any(not condition.decided for condition in frame.conditions):
        return True  # nobody knows how often this is done
    place, began = frame.place(node).key, m.finished[0].clock
    earlier = m.writes.get((id(owner.fields), node.target.attr), ())
    return any(write.place.key == place and write.clock >= began for write in earlier)


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        loaded: ast.expr = ast.Name(target.id, ast.Load())
    elif isinstance(target, ast.Attribute):
        loaded = ast.Attribute(target.value, target.attr, ast.Load())
    else:
        assert isinstance(target, ast.Subscript)
        loaded = ast.Subscript(target.value, target.slice, ast.Load())
    return ast.copy_location(loaded, target)


def assign(
    m: Machine,
    target: ast.expr,
    value: Value,
    frame: Frame,
    statement: ast.AST | None = None,
    *,
    augmented: bool = False,
) -> None:
    """Bind `value` to a target: name, attribute, item or a tuple of targets."""
    node = statement or target
    if isinstance(target, ast.Name):
        bind_name(m, target.id, value, frame, node)
    elif isinstance(target, ast.Attribute):
        owner = expressions.evaluate(m, target.value, frame)
        storing.put(m, owner, target.attr, value, node, frame, augmented=augmented)
    elif isinstance(target, ast.Subscript):
        owner = expressions.evaluate(m, target.value, frame)
        index = expressions.evaluate(m, target.slice, frame)
        indexing.put_item(m, owner, index, value, node, frame)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(m, target.elts, value, frame, node)
    elif isinstance(target, ast.Starred):
        assign(m, target.value, value, frame, node)


def bind_name(m: Machine, name: str, value: Value, frame: Frame, node: ast.AST) -> None:
    """Bind a local, nonlocal or global name."""
    place = frame.place(node)
    if name in frame.globals_:
        storing.stored(m, None, m.env_of(frame.module).fields, name, value, place)
        return
    env = frame.env
    if name in frame.nonlocals:
        while env.parent is not None and name not in env.fields:
            env = env.parent
        if name not in env.fields:
            env = frame.env
    outer = env is not frame.env
    noted = place if outer or not m.captures or isinstance(value, Tensor) else None
    m.write(env.fields, name, value, noted, local=not outer)


def _unpack(m: Machine, targets: list[ast.expr], value: Value, frame: Frame, node: ast.AST) -> None:
    star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    parts = unpacked(m, value, len(targets), star)
    for target, part in zip(targets, parts, strict=True):
        assign(m, target, part, frame, node)


def unpacked(m: Machine, value: Value, count: int, star: int | None = None) -> list[Value]:
    """Split a value over `count` targets."""
    if isinstance(value, Union):
        rows = [unpacked(m, part, count, star) for part in value.values if part is not NONE]
        return [join_all(row[i] for row in rows) for i in range(count)] if rows else [Unknown("none")] * count
    if isinstance(value, Obj) and value.cls == "torch.Size" and star is None:
        return [indexing.size_of(value, Const(index)) for index in range(count)]
    known, rest = loops.elements_of(m, value)
    if star is not None:
        tail = count - star - 1
        middle = Sequence_(known[star : len(known) - tail], "list", rest)
        last = list(known[len(known) - tail :]) if tail else []
        parts = [*known[:star], middle, *last]
    else:
        parts = list(known[:count])
    filler = rest if rest is not None else Unknown("unpacking")
    return [*parts, *([filler] * (count - len(parts)))][:count]


def bind_only(m: Machine, node: ast.stmt, frame: Frame) -> None:
    """Run one module-level statement for the names that it binds."""
    if isinstance(node, (ast.For, ast.With)):
        return
    execute(m, [node], frame)


# control flow


def _if(m: Machine, node: ast.If, frame: Frame, rest: Sequence[ast.stmt] = ()) -> bool:
    """An `if`; with `rest` what follows belongs to the other arm of an undecided test.

    Tells whether that has run.
    """
    uses = len(m.capture.host_uses) if m.capture is not None else 0
    value = expressions.evaluate(m, node.test, frame)
    if rounds.open_count(m, node.test, value, frame):
        value = expressions.evaluate(m, node.test, frame)
    truth = conditions.test(m, value, node.test, frame, "if")
    if truth is None:
        truth = once.settled(m, node, value, frame)
    elif rest and not truth and deferral.is_in_lost_call(m):
        truth = None  # a warm-up that was not followed may have filled what is looked up
    if truth is not None:
        m.arms.add((id(node), truth))
        arm = node.body if truth else node.orelse
        _run_under(m, node.test, value, truth, True, arm, frame)
        return False
    guard = guards.of_test(m, node.test, frame)

    def run(polarity: bool) -> None:
        arm = node.body if polarity else [*node.orelse, *rest]
        _run_under(m, node.test, value, polarity, False, arm, frame)
        if guard is not None:
            guard.arm_ended(polarity, frame)

    watch = idle_branches.watch(m, frame, uses)
    arms = [once.noting(m, node, answer, frame, partial(run, answer)) for answer in (True, False)]
    wrote = fork(m, frame, arms, lambda: refills.watch(m, node.test))
    if guard is not None:
        guard.settle(m)
    if watch is not None:
        watch.end(m, frame, wrote=wrote)
    return bool(rest)


def _run_under(
    m: Machine,
    test: ast.expr,
    value: Value,
    polarity: bool,
    decided: bool,
    arm: Sequence[ast.stmt],
    frame: Frame,
) -> None:
    """Run an arm under what its test implies; an arm that leaves makes the other one's test hold after."""
    mark = len(frame.conditions)
    conditions.push(m, test, value, polarity, decided, frame)
    saved = conditions.narrow(m, test, polarity, frame)
    try:
        execute(m, arm, frame)
    finally:
        conditions.restore(m, frame, saved)
        del frame.conditions[mark:]
    if not decided and not frame.reachable:
        pinned_numbers.note_left(m, test, polarity, frame)


def fork(
    m: Machine,
    frame: Frame,
    arms: Sequence[Callable[[], None]],
    refill: Callable[[], refills.Refill | None] = lambda: None,
) -> bool:
    """Run alternatives from the same state and join the states of those that reach their end.

    Tells whether one of those has written a cell. What `refill` gives before an arm says after it whether the
    arm runs at all.
    """
    outcomes: list[Snapshot] = []
    opened = captures.Alternatives(m)
    for arm in arms:
        m.heap.open()
        frame.reachable = True
        current = list(m.streams)
        held_back = refill()
        if held_back is not None:
            held_back.begin()
        arm()
        m.streams[:] = current
        taken = m.heap.undo()
        if held_back is not None and held_back.end(taken):
            opened.next(False)
            continue
        opened.next(frame.reachable)
        if frame.reachable:
            outcomes.append(taken)
    opened.join()
    frame.reachable = bool(outcomes)
    if outcomes:
        m.heap.merge(outcomes)
    return any(outcomes)


def _return(m: Machine, node: ast.Return, frame: Frame) -> None:
    value = expressions.evaluate(m, node.value, frame) if node.value is not None else NONE
    if not frame.reachable:
        return  # the expression certainly raised
    if not m.captures:
        _announce_return(m, node, value, frame)
    frame.returned.append(value)
    outputs.note_received(m, value, frame)
    functions.leave(m, frame)


def _announce_return(m: Machine, node: ast.Return, value: Value, frame: Frame) -> None:
    aliases = tuple(t for t in tensors_in(value) if t.stamp and t.storage.graph is not None)
    if aliases and node.value is not None:
        for tensor in aliases:
            m.check_stale(tensor, frame.place(node))
        copied = {True, False} <= _copied_parts(value) and not _is_made_by_others(m, frame)
        place = frame.place(node)
        m.emit(Returned(place=place, value=value, aliases=aliases, copied=copied, root=frame.call is None))


def _is_made_by_others(m: Machine, frame: Frame) -> bool:
    """Whether a method is of a class that the project makes objects of: its results are judged there."""
    cls = frame.function.cls if frame.function is not None else None
    return cls is not None and bool(m.project.calling_paths(cls.name))


def _copied_parts(value: Value, depth: int = 3) -> set[bool]:
    """Whether the parts of what is returned are copies; a part that may be one or not says nothing."""
    if isinstance(value, Tensor):
        return {value.storage.owner == "copy"}
    if isinstance(value, Union):
        found = [_copied_parts(part, depth) for part in value.values if not is_none(part)]
        return found[0] if found and all(each == found[0] for each in found) else set()
    parts: Iterable[Value] = ()
    if isinstance(value, Sequence_):
        parts = value.elements()
    elif isinstance(value, Mapping):
        parts = [part for _, part in value.entries()]
    elif isinstance(value, Obj):
        parts = [part for part in value.fields.values() if isinstance(part, Value)]
    return {kind for part in parts if depth for kind in _copied_parts(part, depth - 1)}


def _raise(m: Machine, node: ast.Raise, frame: Frame) -> None:
    if node.exc is not None and not m.captures:
        expressions.evaluate(m, node.exc, frame)
    frame.reachable = False


def _assert(m: Machine, node: ast.Assert, frame: Frame) -> None:
    value = expressions.evaluate(m, node.test, frame)
    if conditions.test(m, value, node.test, frame, "assert") is False and m.captures:
        frame.reachable = False
        return
    for text, (_, narrowed) in conditions.narrow(m, node.test, True, frame).items():
        if not text.startswith("?"):
            m.heap.write(frame.env.fields, text, narrowed)


def _with(m: Machine, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
    contexts.run_with(m, node.items, node.body, frame, node)


def _try(m: Machine, node: ast.Try, frame: Frame) -> None:
    """The body, then each handler as an alternative to the body's success, then `finally`."""
    arms: list[Callable[[], None]] = []

    before = len(m.finished)

    def success() -> None:
        execute(m, node.body, frame)
        execute(m, node.orelse, frame)

    arms.append(success)
    for handler in node.handlers:
        if names.cannot_fail(m, frame.module, node.body, handler):
            continue
        arms.append(partial(_handle_failure, m, node, handler, before, frame))
    if len(arms) == 1:
        success()
    else:
        fork(m, frame, arms)
    reached, frame.reachable = frame.reachable, True
    execute(m, node.finalbody, frame)
    frame.reachable = frame.reachable and reached


def _handle_failure(m: Machine, node: ast.Try, handler: ast.ExceptHandler, before: int, frame: Frame) -> None:
    if _is_answered(node, frame):
        frame.reachable = False
    else:
        _handle(m, handler, m.finished[before:], frame)


def _is_answered(node: ast.Try, frame: Frame) -> bool:
    """Whether all that is tried is a question that was answered: `return torch.cuda.is_available()`."""
    is_question = len(node.body) == 1 and isinstance(node.body[0], ast.Return)
    answer = frame.returned[-1] if is_question and frame.returned else None
    return isinstance(answer, Const) and isinstance(answer.value, bool)


def _handle(m: Machine, handler: ast.ExceptHandler, captured: list[Capture], frame: Frame) -> None:
    """A handler, from the state before the body: what the body had done by then is not known."""
    test = handler.type or ast.Constant(True)
    mark = len(frame.conditions)
    ast.copy_location(test, handler)
    conditions.push(m, test, Unknown("exception"), True, False, frame)
    if handler.name:
        m.heap.write(frame.env.fields, handler.name, Unknown("exception"))
    m.handling += bool(captured)
    try:
        execute(m, handler.body, frame)
        if captured and not _leaves_program(handler):
            m.emit(CaptureGuarded(place=frame.place(test), guarded=captured))
    finally:
        m.handling -= bool(captured)
        del frame.conditions[mark:]


def _leaves_program(handler: ast.ExceptHandler) -> bool:
    """Whether a handler ends by raising, so that nothing goes on as if the capture had not been tried."""
    return any(isinstance(part, ast.Raise) for part in walk(handler))


def _for(m: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    loops.run_for(m, node, frame)


def _while(m: Machine, node: ast.While, frame: Frame) -> None:
    loops.run_while(m, node, frame)


def _break(m: Machine, node: ast.Break, frame: Frame) -> None:
    if frame.loops:
        frame.loops[-1].breaks.append(m.heap.snapshot(frame.loops[-1].level))
    frame.reachable = False


def _continue(m: Machine, node: ast.Continue, frame: Frame) -> None:
    if frame.loops:
        frame.loops[-1].continues.append(m.heap.snapshot(frame.loops[-1].level))
    frame.reachable = False


def _delete(m: Machine, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            m.heap.write(frame.env.fields, target.id, Unknown(storing.DELETED))
        elif isinstance(target, ast.Attribute):
            storing.delete(m, expressions.evaluate(m, target.value, frame), target.attr, node, frame)
        elif isinstance(target, ast.Subscript):
            owner = expressions.evaluate(m, target.value, frame)
            indexing.delete_item(m, owner, expressions.evaluate(m, target.slice, frame), node, frame)


def _define(m: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
    if frame.function is not None and own_text.text_of(node).captures:
        m.nested.append(functions.function_value(m, node, frame, node.name))
    m.heap.write(frame.env.fields, node.name, functions.define_function(m, node, frame))


def _define_class(m: Machine, node: ast.ClassDef, frame: Frame) -> None:
    m.heap.write(frame.env.fields, node.name, functions.define_class(m, node, frame))


def _import(m: Machine, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    for alias in node.names:
        name = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
        if name != "*":
            m.heap.write(frame.env.fields, name, names.imported(m, frame.module, node, name))


def _global(m: Machine, node: ast.Global, frame: Frame) -> None:
    frame.globals_.update(node.names)


def _nonlocal(m: Machine, node: ast.Nonlocal, frame: Frame) -> None:
    frame.nonlocals.update(node.names)


def _match(m: Machine, node: ast.Match, frame: Frame) -> None:
    matching.run(m, node, frame)


_Handler = Callable[["Machine", Any, Frame], None]
_BY_TYPE: dict[type[ast.AST], _Handler] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Delete: _delete,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _define_class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Match: _match,
}
_HANDLERS = looking.by_type(_BY_TYPE)
