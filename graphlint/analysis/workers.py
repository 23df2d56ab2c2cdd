"""Running units, in several processes where that pays.

Workers are forked before any thread starts: they share the scanned project without copying it, take
units from a common queue (a pipe of numbers) and leave their results in a file of their own. Where
forking is not to be had, or a worker dies, the units are run here: the results are the same.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from graphlint.analysis import packing
from graphlint.analysis.units import Analyst

if TYPE_CHECKING:
    from graphlint.config import Config
    from graphlint.facts.project import Project

STACK_BYTES = 512 * 1024 * 1024
RECURSION_LIMIT = 40_000
# Trees and abstract values are many and long-lived, and little of them is garbage: looking for it after every
# 700 new objects, as Python does, takes a third of the time of a large project.
GARBAGE_THRESHOLD = 5_000_000
FEWEST_UNITS = 4  # below this a fork saves nothing
UNITS_OF_MANY_SEARCHES = 16  # so many search for enough names to pay for an index of all words
_NUMBER_BYTES = 4


_Run = Callable[[str], "dict[str, Any]"]


def run_units(project: Project, config: Config, paths: list[str], jobs: int) -> dict[str, dict[str, Any]]:
    """The packed result of every unit, by path."""
    analyst = Analyst(project, config)

    def run(path: str) -> dict[str, Any]:
        return with_deep_stack(lambda: packing.pack(analyst.run_unit(path)))

    pays = jobs > 1 and len(paths) >= FEWEST_UNITS and _can_fork()
    with seldom_collecting():
        done = _run_forked(project, run, paths, jobs) if pays else {}
        return {path: done[path] if path in done else run(path) for path in paths}


def _can_fork() -> bool:
    return sys.platform.startswith("linux") and threading.active_count() == 1


def _run_forked(project: Project, run: _Run, paths: list[str], jobs: int) -> dict[str, dict[str, Any]]:
    if len(paths) >= UNITS_OF_MANY_SEARCHES:
        project.prepare_searches()
    gc.freeze()  # what is shared so far stays shared: the collector would write to it
    take, give = os.pipe()
    os.write(give, b"".join(n.to_bytes(_NUMBER_BYTES, "little") for n in range(len(paths))))
    os.close(give)
    workers = [_fork(run, paths, take) for _ in range(jobs - 1)]
    done = dict(_work(run, paths, take))
    os.close(take)
    for pid, name in workers:
        done.update(_collect(pid, name))
    gc.unfreeze()
    return done


def _work(run: _Run, paths: list[str], take: int) -> list[tuple[str, dict[str, Any]]]:
    """Take units from the queue until it is empty."""
    done = []
    while number := os.read(take, _NUMBER_BYTES):
        path = paths[int.from_bytes(number, "little")]
        done.append((path, run(path)))
    return done


def _fork(run: _Run, paths: list[str], take: int) -> tuple[int, str]:
    handle, name = tempfile.mkstemp(prefix="graphlint-")
    pid = os.fork()
    if pid:
        os.close(handle)
        return pid, name
    code = 1
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(_work(run, paths, take), file)
        code = 0
    finally:
        os._exit(code)


def _collect(pid: int, name: str) -> dict[str, dict[str, Any]]:
    """What a worker left; nothing when it died."""
    try:
        _, status = os.waitpid(pid, 0)
        if status:
            return {}
        with open(name, encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return {}
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def with_deep_stack(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Abstract calls nest deeply: run on a thread with a large stack and a high recursion limit."""
    results: list[dict[str, Any]] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    old_limit, old_size = sys.getrecursionlimit(), threading.stack_size()
    sys.setrecursionlimit(RECURSION_LIMIT)
    threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old_size)
        sys.setrecursionlimit(old_limit)
    if failures:
        raise failures[0]
    return results[0]


@contextlib.contextmanager
def seldom_collecting() -> Iterator[None]:
    """Look for garbage seldom."""
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], GARBAGE_THRESHOLD), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
