"""Budgets: no call outside of captured code may take the steps that its root's captures need.

A root has a number of steps. Every so often the machine looks who spends them. A constructor that has taken
more than its share, or the innermost call that has taken most of a longer stretch, is *cut short*: the
machine goes back to where it was called and undoes what it did, and `deferral` says what is known instead.
What leads to a capture by its text, and what has captured, is never cut short; captured code may take all
that is left, also while it waits for a global that is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from graphlint.analysis import own_text
from graphlint.analysis.classes import ClassInfo, Def
from graphlint.analysis.frames import CutShort, Frame, owner_of
from graphlint.analysis.values import Mapping, Obj, Sequence_, Union, Value
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine

# What may be spent before anything is captured or replayed, by the `Way` of the root, and as a part of its
# steps: what has not captured by then does not come to it with twice as much.
PATIENCE = (30_000, 20_000, 6_000)
MOST_PATIENCE = 0.8
# The part of a root's steps that making one given object may take.
SHARE = 6
# How often the machine looks, as a part of a root's steps: also what a constructor may take.
LOOKS = 20
LEAST = 400
# How many looks another call may take, and the part of them that must be its own.
PLAIN = 2
MOST_OF_IT = 0.6
# What repeated captures of the same code may take beyond the steps of the root, as a part of them.
REPEATED = 0.5
# How many values an object is looked into for one that captures.
MOST_HELD = 300

CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__"})


class Exhausted(Exception):
    """The budget of one scenario is spent; what was found so far stands."""


class Budget:
    """What a root may still spend; the machine's `limit` is the step at which it looks next."""

    def __init__(self, m: Machine, steps: int) -> None:
        self.m = m
        self.total = steps
        self.end = self.most = steps
        self.is_near = True
        self.patience = 0
        self.wait(0)
        self.stretch = max(LEAST, steps // LOOKS)
        m.limit = min(self.stretch, self.end)
        self.since = 0  # when the stretch began in which a plain call may take most
        self.captured = -1  # the last step at which something was captured or replayed
        self.waiting = 0  # how many frames are of captured code, waiting for what happened before everything

    def wait(self, way: int) -> None:
        """Set how long the root may wait for its first capture: the farther it is by its text, the shorter.

        What a root takes to make the objects that it is given counts where it does not capture by itself.
        """
        self.is_near = way == 0
        self.patience = min(PATIENCE[way], int(self.total * MOST_PATIENCE))

    def look(self) -> None:
        """The limit is reached: give up, leave a call, or go on to the next limit."""
        m = self.m
        if m.steps > self.end or (m.steps > self.patience and self.captured < 0):
            raise Exhausted
        m.limit = min(self.end, m.steps + self.stretch)
        if m.captures or m.foreign is not None:
            self.since = self.captured = m.steps
            return
        frame = _root_constructor(m, self) or _constructor(m, self) or _spender(m, self)
        if frame is not None:
            self.since = m.steps
            outer = takewhile(lambda each: each is not frame, m.frames)
            self._excuse(outer, m.steps - frame.began)
            raise CutShort(frame)

    def _excuse(self, frames: Iterable[Frame], steps: int) -> None:
        """Calls are not blamed for what was lost in another one, or spent on what they were given."""
        for frame in frames:
            frame.excused += steps

    def forgive(self, steps: int) -> None:
        """Steps of a capture whose code was captured before do not count: what replays comes after them."""
        more = min(steps, self.total + int(self.total * REPEATED) - self.most)
        self.end, self.most = self.end + more, self.most + more

    @contextmanager
    def share(self) -> Iterator[None]:
        """Run something with a part of the steps, which do not count for what it is run for, nor, in a root
        that captures by itself, as waiting for a capture.
        """
        m, part = self.m, self.total // SHARE
        began, outer, most, patience = m.steps, self.end, self.most, self.patience
        self.end = self.patience = min(most, began + part)
        self.most = min(most, began + 2 * part)
        m.limit = min(m.limit, self.end)
        try:
            yield
        finally:
            self._excuse(m.frames, m.steps - began)
            self.end, self.most = min(most, outer + m.steps - began), most
            self.patience = patience + (m.steps - began if self.is_near else 0)
            m.limit = min(self.end, m.steps + self.stretch)


def take_back(m: Machine, frame: Frame) -> None:
    """Undo what the call of a frame did so far, and leave what it had entered."""
    assert frame.opened is not None
    while len(m.heap.journals) > frame.level:
        m.heap.undo()
    exits, contexts, streams = frame.opened
    del m.open_exits[exits:], m.contexts[contexts:], m.streams[streams:]
    m.updating = m.meta_read = False


def _root_constructor(m: Machine, budget: Budget) -> Frame | None:
    """The constructor of a root that has taken most of the patience; its captures are run all the same."""
    if budget.captured >= 0 or m.steps < budget.patience * MOST_OF_IT:
        return None
    own = m.frames[budget.waiting :]
    made = (frame for frame in own if _name(frame) in CONSTRUCTORS and _may_leave(m, frame))
    return next((frame for frame in made if _is_of(m.goal, frame)), None)


def _is_of(node: ast.AST | None, frame: Frame) -> bool:
    """Whether a frame runs on an instance of a class, or of one that derives from it."""
    owner = owner_of(frame.function, frame.env) if frame.function is not None else None
    if not (isinstance(owner, Obj) and isinstance(owner.cls, ClassInfo)):
        return False
    return any(info.node is node for info in owner.cls.mro())


def _constructor(m: Machine, budget: Budget) -> Frame | None:
    """The outermost constructor that has taken its share; where a field is looked for, one made for it."""
    sliced = max((i for i, frame in enumerate(m.frames) if frame.sliced), default=-1)
    for frame in m.frames[max(sliced + 1, budget.waiting) :]:
        if _spent(m, frame) >= budget.stretch and _name(frame) in CONSTRUCTORS and _may_cut(m, frame):
            return frame
    asked = m.frames[sliced] if sliced >= budget.waiting else None
    if asked is not None and _spent(m, asked) >= budget.stretch and _may_leave(m, asked):
        return asked
    return None


def _spender(m: Machine, budget: Budget) -> Frame | None:
    """The innermost call that has taken as many steps as most of a longer stretch."""
    stretch = PLAIN * budget.stretch
    if m.steps - budget.since < stretch:
        return None
    for frame in reversed(m.frames[budget.waiting :]):
        if _spent(m, frame) >= stretch * MOST_OF_IT and _may_cut(m, frame):
            return frame
    return None


def _spent(m: Machine, frame: Frame) -> int:
    return m.steps - frame.began - frame.excused


def _name(frame: Frame) -> str:
    return getattr(frame.function.node, "name", "") if frame.function is not None else ""


def _may_cut(m: Machine, frame: Frame) -> bool:
    """Whether a frame is a call that can be left, and neither has captured nor seems to lead to a capture."""
    function = frame.function
    if function is None or function.node is m.goal or isinstance(function.node, ast.Lambda):
        return False
    if frame.sliced or not _may_leave(m, frame):
        return False
    trees: list[ast.AST] = [function.node]
    goals = m.goals - {_name(frame)}
    is_goal = partial(_is_goal, m)
    if holds_instance(_parameters(frame), is_goal):
        return False
    owner = function.self_value
    if isinstance(owner, Obj) and not isinstance(owner.cls, str):
        trees += _reached(owner.cls, function.node)
        goals -= {info.name for info in owner.cls.mro()}
        named = frozenset().union(*(own_text.text_of(tree).names for tree in trees))
        if holds_instance([value for name, value in owner.fields.items() if name in named], is_goal):
            return False
    return not any(_leads_on(tree, goals) for tree in trees)


def _parameters(frame: Frame) -> list[object]:
    """What a function that is no method was given."""
    assert frame.function is not None
    return list(frame.env.fields.values()) if frame.function.self_value is None else []


def holds_instance(values: Iterable[object], is_sought: Callable[[ClassInfo], bool]) -> bool:
    """Whether one of the values is, or holds, an object of a class that is sought."""
    pending = [value for value in values if isinstance(value, Value)]
    met: set[int] = set()
    while pending and len(met) < MOST_HELD:
        part = pending.pop(0)
        if id(part) in met:
            continue
        met.add(id(part))
        if type(part) is Obj and isinstance(part.cls, ClassInfo) and is_sought(part.cls):
            return True
        pending += _held(part)
    return False


def _held(value: Value) -> list[Value]:
    if type(value) is Obj:
        return [part for part in value.fields.values() if isinstance(part, Value)]
    if type(value) is Mapping:
        return [part for _, part in value.entries()]
    if type(value) is Sequence_:
        return list(value.elements())
    return list(value.values) if type(value) is Union else []


def _is_goal(m: Machine, cls: ClassInfo) -> bool:
    """Whether a class captures or leads to captures."""
    return any(info.name in m.goals or own_text.text_of(info.node).captures for info in cls.mro())


def _may_leave(m: Machine, frame: Frame) -> bool:
    """Whether a frame is one that can be left, and has captured nothing."""
    return frame.opened is not None and frame.began > m.budget.captured


def _reached(cls: ClassInfo, method: Def) -> Iterator[Def]:
    """The methods of an object that one of them mentions as its own, transitively, and those it extends."""
    pending, met = [method], {id(method)}
    while pending:
        current = pending.pop()
        for info in cls.mro():
            for name in _own_names(current) | {current.name}:
                found = info.methods.get(name)
                if found is not None and id(found) not in met:
                    met.add(id(found))
                    pending.append(found)
                    yield found


@summary
def _own_names(method: Def) -> frozenset[str]:
    """The names that a method reads from its first parameter."""
    first = method.args.args[0].arg if method.args.args else ""
    return frozenset(
        part.attr
        for part in walk(method)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == first
    )


def _leads_on(tree: ast.AST, goals: frozenset[str]) -> bool:
    """Whether a text captures, or mentions a definition that does."""
    text = own_text.text_of(tree)
    return text.captures or not text.names.isdisjoint(goals)
