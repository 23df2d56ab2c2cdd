"""Threads: targets run beside the program; what they do counts as done on another thread."""

from __future__ import annotations

from graphlint.analysis import attributes, calls
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.events import Called
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.values import NONE, External, Mapping, Obj, Sequence_, Unknown, Value


@model("threading.Thread", "threading.Timer", "multiprocessing.pool.ThreadPool")
def _thread(call: Call) -> Value:
    made = Obj("threading.Thread", call.place)
    target = call.arguments.kwargs.get("target") or call.get(1, "target")
    made.fields["target"] = target if target is not None else Unknown("target")
    made.fields["given"] = call.arguments.kwargs.get("args") or Sequence_()
    made.fields["named"] = call.arguments.kwargs.get("kwargs") or Mapping()
    return made


@model("threading.Thread.start")
def _start(call: Call) -> Value:
    """Starting a thread runs its target here, marked as another thread's work."""
    call.m.emit(Called(place=call.place, what="thread-start", target=call.this))
    call.m.threads.append(call.place)
    owner = call.this
    if isinstance(owner.cls, ClassInfo):
        target: Value = attributes.get(call.m, owner, "run", call.node, call.frame)
        arguments = Arguments()
    else:
        target = owner.fields.get("target", Unknown("target"))
        arguments = _given(owner)
    return run_beside(call, target, arguments)


def _given(owner: Obj) -> Arguments:
    arguments = Arguments()
    given = owner.fields.get("given")
    if isinstance(given, Sequence_):
        arguments.args.extend(given.items)
        arguments.more = given.rest
    return arguments


def run_beside(call: Call, target: Value, arguments: Arguments) -> Value:
    """Run a callable as another thread would: it is not part of an open capture."""
    if isinstance(target, (Unknown, External)):
        return NONE
    m = call.m
    captures, m.captures = m.captures, []
    m.thread_depth += 1
    try:
        calls.call(m, target, arguments, call.node, call.frame, call.place)
    finally:
        m.thread_depth -= 1
        m.captures = captures
    return NONE


@model("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor")
def _executor(call: Call) -> Value:
    return Obj("concurrent.futures.ThreadPoolExecutor", call.place)


@model("concurrent.futures.ThreadPoolExecutor.submit", "concurrent.futures.ThreadPoolExecutor.map")
def _submit(call: Call) -> Value:
    call.m.emit(Called(place=call.place, what="thread-start", target=call.this))
    call.m.threads.append(call.place)
    if call.args:
        run_beside(call, call.args[0], Arguments(call.args[1:], dict(call.arguments.kwargs)))
    return Obj("concurrent.futures.Future", call.place)


@model("threading.Thread.join", "threading.Event.wait", "queue.Queue.get", "concurrent.futures.Future.result")
def _wait(call: Call) -> Value:
    call.m.emit(Called(place=call.place, what="thread-wait", target=call.owner or Unknown("thread")))
    return Unknown("result of another thread")


@model("threading.Thread.__init__")
def _init(call: Call) -> Value:
    return NONE
