"""One captured graph and the shadow of its replays."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from graphlint.sentinel.hoststate.living import living
from graphlint.sentinel.hoststate.memory import Change, Memory
from graphlint.sentinel.hoststate.walk import Walk
from graphlint.sentinel.origins import has_own_state
from graphlint.sentinel.shadow import outputs
from graphlint.sentinel.shadow.eager import Eager
from graphlint.sentinel.shadow.holding import Gone, Names, gone
from graphlint.sentinel.shadow.rerun import Made, Plan, changed_since, run
from graphlint.sentinel.shadow.source import RETURNED, Body, body_of
from graphlint.sentinel.trials.settings import Modes, RandomNumbers
from graphlint.sentinel.trials.writes import Outside, Saved
from graphlint.sentinel.watching.runs import locals_of


@dataclass(slots=True)
class Site:
    """One `with` statement: what the host state was at each of its captures.

    What differs between captures of one statement chooses among graphs; it is no change of one graph's state.
    """

    memories: list[Memory] = field(default_factory=list)
    own: set[str] = field(default_factory=set)

    def selectors(self) -> set[str]:
        """The places that differ between captures."""
        first, *others = self.memories
        return {
            path
            for other in others
            for path, token in other.tokens.items()
            if path in first.tokens and path not in self.own and not first.tokens[path].same(token)
        }


class Subject:
    """A graph captured under a `with` statement of the program, from the beginning of its capture.

    `frame` is the frame that the statement is in. Raises NotRunnable where the body cannot run again.
    """

    def __init__(self, frame: FrameType, site: Site) -> None:
        self._body: Body = body_of(frame)
        names = locals_of(frame)
        self._module: dict[str, Any] = frame.f_globals
        self._roots = self._module if has_own_state(frame.f_code.co_filename) else None
        self._names = Names(names, frame)
        self._modes = Modes.now()
        walk = Walk(self._own_names(names), self._roots)
        self._begin = Memory(walk)
        self._ungraded = [
            (path, weakref.ref(tensor))
            for path, tensor in walk.tensors.items()
            if tensor.is_leaf and tensor.requires_grad and tensor.grad is None
        ]
        self._site, self._place = site, len(site.memories)
        site.memories.append(self._begin)
        self._outputs: dict[str, weakref.ref[torch.Tensor]] = {}
        self._hidden: set[str] = set()
        self._writes: dict[int, Outside] = {}

    def ended(self, frame: FrameType, writes: dict[int, Outside]) -> None:
        """The capture came to its end: remember which tensors hold what it made, and what it `writes`."""
        self._writes = writes
        names = locals_of(frame)
        walk = Walk(self._own_names(names), self._roots)
        changed = self._begin.changes(walk)
        self._site.own |= {change.path for change in changed}
        hidden = outputs.changed_tensors(changed, self._begin.added(walk))
        self._hidden = hidden - outputs.below(hidden, self._body.assigned & self._module.keys())
        found = self._results(names | {RETURNED: None}, walk)
        self._outputs = {what: weakref.ref(tensor) for what, tensor in found.items()}

    def before_replay(self, frame: FrameType | None, replay: int) -> Eager:
        """Run the body eagerly, and undo it; raises NotRunnable."""
        names = self._current(frame)
        numbers = RandomNumbers([])
        back = changed_since(self._begin, self._selected())
        made = run(self._plan(), names, back)
        for memory, outside in self._writes.items():
            tensor = outside.tensor()
            if tensor is not None and memory not in made.written:
                saved = Saved(tensor)
                made.written[memory] = (saved, saved.before)  # the body does not write it now
        return Eager(self, names, made, numbers, replay)

    def changes(self, names: dict[str, Any]) -> list[Change]:
        """What of the host state is different from the beginning of the capture."""
        selected = self._selected()
        return [
            change
            for change in self._begin.changes(Walk(names, self._roots))
            if change.path not in selected and change.path not in self._outputs
        ]

    def rerun(self, names: dict[str, Any], back: set[str]) -> Made:
        """Run it once more with some places set back to what they were when the capture began."""
        return run(self._plan(), dict(names), changed_since(self._begin, back | self._selected()))

    def captured_outputs(self) -> dict[str, torch.Tensor]:
        """The graph's own outputs that are still alive."""
        found = {what: living(reference) for what, reference in self._outputs.items()}
        return {what: tensor for what, tensor in found.items() if tensor is not None}

    @property
    def own(self) -> set[str]:
        """The places that the captured code changes itself."""
        return self._site.own

    def _selected(self) -> set[str]:
        return self._site.selectors()

    def _plan(self) -> Plan:
        function = self._body.function(self._module)
        return Plan(
            lambda names: function(*(names[name] for name in self._body.parameters)),
            self._modes,
            lambda names: self._results(names, None),
            self._roots,
            [reference for _, reference in self._ungraded],
        )

    def _results(self, names: dict[str, Any], walk: Walk | None) -> dict[str, torch.Tensor]:
        found = outputs.of_targets(self._body.targets, names, self._module)
        if self._hidden:
            walk = walk or Walk(self._own_names(names), self._roots)
            found = {path: walk.tensors[path] for path in self._hidden if path in walk.tensors} | found
        return found | outputs.gradients(self._ungraded)

    def _own_names(self, names: dict[str, Any]) -> dict[str, Any]:
        return {name: names[name] for name in self._body.parameters if name in names}

    def _current(self, frame: FrameType | None) -> dict[str, Any]:
        now = self._names.now(frame)
        return {name: self._value(name, now) for name in self._body.parameters}

    def _value(self, name: str, now: Any) -> Any:
        body = self._body
        fixed = name in body.in_loop or self._place < len(self._site.memories) - 1
        try:
            then = self._names.then(name)
        except Gone:
            if name in now:
                return now[name]
            if name in body.assigned or name not in body.used:
                return None
            raise gone(name) from None
        if fixed or name not in now or (name in body.assigned and isinstance(then, torch.Tensor)):
            return then
        return now[name]
