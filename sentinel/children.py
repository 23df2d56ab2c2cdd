"""Processes that a watched program makes with `multiprocessing` are watched, and hand over what they see.

A new Python gets the order to watch with the data by which `multiprocessing` prepares it, before it imports
the program; a forked one is watched already. Either writes a file at each new finding, as it may be killed,
and when it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from multiprocessing import spawn, util
from pathlib import Path
from typing import Any

from graphlint.problem import describe
from graphlint.sentinel.findings import Finding, Place
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.session import Watch, watch
from graphlint.sentinel.settings import Mode

_LAST = -1000  # among what a process does when it ends
_STACKS = ("captured", "touched", "replayed")


class _Order:
    """Is pickled as code that begins to watch; where graphlint cannot be imported it does nothing."""

    def __init__(self, *arguments: object) -> None:
        self._arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        call = f"from graphlint.sentinel import children\n    children.begin(*{self._arguments!r})"
        return exec, (f"try:\n    {call}\nexcept ImportError:\n    pass",)


class Handover:
    """Writes down what a watch has seen in this process, from a certain moment on."""

    def __init__(self, folder: str, seen: Watch, closing: ExitStack) -> None:
        self._folder = folder
        self._seen = seen
        self._closing = closing
        self._before: dict[Finding, int] = {}
        self._counts = (0, 0)

    def in_child(self) -> None:
        """What was seen before belongs to the parent; the rest is written."""
        self._before = {replace(finding, times=1): finding.times for finding in self._seen.so_far()}
        self._counts = (self._seen.graphs, self._seen.replays)
        self._seen.on_new = self.write
        util.Finalize(None, self._end, exitpriority=_LAST)

    def _end(self) -> None:
        self._closing.close()
        self.write()

    def write(self) -> None:
        """Write it under a name that is this process's own."""
        graphs, replays = self._counts
        content = {
            "graphs": self._seen.graphs - graphs,
            "replays": self._seen.replays - replays,
            "unseen": self._seen.unseen,
            "findings": [asdict(finding) for finding in self._new()],
        }
        _write(self._folder, content)

    def _new(self) -> Iterator[Finding]:
        for finding in self._seen.so_far():
            times = finding.times - self._before.get(replace(finding, times=1), 0)
            if times:
                yield replace(finding, times=times)


def begin(folder: str, mode: Mode, virtual: bool) -> None:
    """Watch this process, a child, to its end; where that cannot be, say so to the parent."""
    try:
        stack = ExitStack()
        seen = stack.enter_context(watch(mode, virtual=virtual))
    except Exception as error:
        reason = f"a process that was started: {describe(error)}"
        _write(folder, {"graphs": 0, "replays": 0, "unseen": [reason], "findings": []})
        return
    handover = Handover(folder, seen, stack)
    _hand_over(handover)
    _pass_on(Patches(), folder, mode, virtual)
    handover.in_child()


def _write(folder: str, content: dict[str, Any]) -> None:
    """Under a name that is this process's own; the parent may be gone by now."""
    with contextlib.suppress(OSError):
        Path(folder, f"{os.getpid()}.json").write_text(json.dumps(content), encoding="utf-8")


@contextmanager
def followed(seen: Watch, virtual: bool) -> Iterator[None]:
    """Watch the children that the block makes, and add what they have seen to `seen` when it ends."""
    folder, patches, owner = tempfile.mkdtemp(prefix="graphlint-"), Patches(), os.getpid()
    try:
        _hand_over(Handover(folder, seen, ExitStack()))
        _pass_on(patches, folder, seen.mode, virtual)
        yield
        for file in sorted(Path(folder).glob("*.json")) if os.getpid() == owner else ():
            with contextlib.suppress(ValueError):  # killed while it wrote
                _add(seen, json.loads(file.read_text(encoding="utf-8")))
    finally:
        patches.restore()
        _handovers.clear()
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)


_handovers: list[Handover] = []


def _hand_over(handover: Handover) -> None:
    """Have every child begin with it; the registry of `multiprocessing` holds it weakly."""
    _handovers.append(handover)
    util.register_after_fork(handover, Handover.in_child)


def _pass_on(patches: Patches, folder: str, mode: Mode, virtual: bool) -> None:
    prepare = spawn.get_preparation_data

    def with_order(name: str) -> dict[str, Any]:
        return {**prepare(name), "graphlint": _Order(folder, mode, virtual)}

    patches.set(spawn, "get_preparation_data", with_order)


def _add(seen: Watch, content: dict[str, Any]) -> None:
    seen.count(content["graphs"], content["replays"])
    for reason in content["unseen"]:
        seen.miss(reason)
    for fields in content["findings"]:
        stacks = {name: tuple(Place(**place) for place in fields[name]) for name in _STACKS}
        seen.add(Finding(**{**fields, **stacks}))
