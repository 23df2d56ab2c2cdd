"""Threads: targets run beside the program; what they do counts as done on another thread."""

from __future__ import annotations

from graphlint.analysis import attributes, calls, handed, parallel
from graphlint.analysis.arguments import Arguments
from graphlint.analysis.classes import ClassInfo
from graphlint.analysis.events import Called
from graphlint.analysis.libraries.registry import Call, model
from graphlint.analysis.parallel import ThreadRun
from graphlint.analysis.values import NONE, Const, External, Mapping, Obj, Sequence_, Unknown, Value
from graphlint.rules import operations

POOL = "concurrent.futures.ThreadPoolExecutor"  # of either library


@model("threading.Thread", "threading.Timer")
def _thread(call: Call) -> Value:
    made = Obj("threading.Thread", call.place)
    timer = call.name.endswith("Timer")
    target = call.get(1, "function" if timer else "target")
    given = call.get(2, "args") if timer else call.arguments.kwargs.get("args")
    named = call.arguments.kwargs.get("kwargs")
    made.fields["target"] = target if target is not None else Unknown("target")
    made.fields["given"] = given or Sequence_()
    made.fields["named"] = named or Mapping()
    return made


@model("threading.Thread.start")
def _start(call: Call) -> Value:
    """Starting a thread runs its target here, marked as another thread's work."""
    owner = call.this
    if isinstance(owner.cls, ClassInfo):
        target: Value = attributes.get(call.m, owner, "run", call.node, call.frame)
        arguments = Arguments()
    else:
        target = owner.fields.get("target", Unknown("target"))
        arguments = _given(owner)
    # A thread starts once: started again, the object stands for several of them.
    worker = Obj("worker", call.place).serial
    _run_beside(call, target, arguments, worker=worker, reused=False, owner=owner.serial)
    return NONE


def _given(owner: Obj) -> Arguments:
    arguments = Arguments()
    given = owner.fields.get("given")
    if isinstance(given, Sequence_):
        arguments.args.extend(given.items)
        arguments.more = given.rest
    named = owner.fields.get("named")
    for name, value in named.entries() if isinstance(named, Mapping) else ():
        if isinstance(name, Const):
            arguments.kwargs[str(name.value)] = value
    return arguments


def _run_beside(
    call: Call, target: Value, arguments: Arguments, *, worker: int, reused: bool, owner: int
) -> ThreadRun:
    """Run a callable as another thread would."""
    m = call.m
    entry = m.frames[1] if len(m.frames) > 1 else None
    run = ThreadRun(call.place, worker, owner, m.steps, entry, reused)
    m.threads.append(run)
    m.emit(Called(place=call.place, what="thread-start", target=call.owner or NONE, data=run))
    if isinstance(target, (Unknown, External)):
        return run
    run.target = lambda: calls.call(m, target, arguments, call.node, call.frame, call.place)
    parallel.run_on(m, run)
    return run


@model(*operations.listed("pools"))
def _pool(call: Call) -> Value:
    made = Obj(POOL, call.place)
    workers = call.args[0] if call.args else None
    for name in ("max_workers", "processes"):
        workers = call.arguments.kwargs.get(name, workers)
    made.fields["single"] = Const(isinstance(workers, Const) and workers.value == 1)
    return made


@model(*[f"{POOL}.{name}" for name in operations.listed("pool_jobs")])
def _submit(call: Call) -> Value:
    """A job for a pool; `map` gives every worker one."""
    pool = call.this
    made = Obj("concurrent.futures.Future", call.place)
    single = pool.fields["single"].value
    several = not single and call.name.rpartition(".")[2] not in ("submit", "apply", "apply_async")
    given = Arguments(call.args[1:], dict(call.arguments.kwargs))
    for _ in range(2 if several else 1):
        if call.args:
            worker = pool.serial if single else Obj("worker", call.place).serial
            run = _run_beside(call, call.args[0], given, worker=worker, reused=True, owner=pool.serial)
            made.fields["run"] = run
    return made


@model(f"{POOL}.shutdown", f"{POOL}.close", f"{POOL}.join", "threading.Thread.join")
def _join(call: Call) -> Value:
    call.m.emit(Called(place=call.place, what="thread-wait", target=call.this))
    handed.waited(call.m)
    parallel.finish_jobs(call.m, call.this)
    return NONE


@model("concurrent.futures.Future.result", "concurrent.futures.Future.get", "concurrent.futures.Future.wait")
def _result(call: Call) -> Value:
    call.m.emit(Called(place=call.place, what="thread-wait", target=call.this))
    handed.waited(call.m)
    runs = [future.fields.get("run") for future in _futures_meant(call)]
    going = [run for run in runs if isinstance(run, ThreadRun) and run.ended is None]
    if going:
        parallel.finish(call.m, min(going, key=lambda run: run.began))
    return Unknown("result of another thread")


def _futures_meant(call: Call) -> list[Obj]:
    """The futures one of which is waited for: the one, or all that may be meant, told of with the first."""
    owners = [part.owner for part in call.m.callees if isinstance(part, External)]
    several = [owner for owner in owners if isinstance(owner, Obj)]
    if len(several) < 2 or call.this not in several:
        return [call.this]
    return several if call.this is several[0] else []


@model("threading.Event.wait", "threading.Condition.wait", "asyncio.Event.wait", "asyncio.Condition.wait")
def _wait(call: Call) -> Value:
    call.m.emit(Called(place=call.place, what="thread-wait", target=call.owner or Unknown("thread")))
    handed.waited(call.m)
    return Unknown("result of another thread")


@model("asyncio.to_thread")
def _to_thread(call: Call) -> Value:
    made = Obj("concurrent.futures.Future", call.place)
    if call.args:
        given = Arguments(call.args[1:], dict(call.arguments.kwargs))
        made.fields["run"] = _run_beside(
            call, call.args[0], given, worker=made.serial, reused=True, owner=made.serial
        )
    return made


@model("threading.Thread.__init__")
def _init(call: Call) -> Value:
    """The constructor of a project's own thread class."""
    return NONE


@model("concurrent.futures.Future.set_result", "asyncio.Future.set_result")
def _set_result(call: Call) -> Value:
    """Whoever waits for the result goes on with it, at a time of its own."""
    if call.args:
        handed.give(call.m, call.args[0], call.place)
    return NONE
