"""Doing tasks, in several processes where that pays.

Workers are forked before any thread starts: they share the scanned project without copying it. They live as
long as the pool, since what they have parsed for one round of tasks serves the next. In each round each has a
stretch of the tasks, since neighbours read the same files, and then helps with those of the others, the
furthest first; who has made a file for a task has taken it. They leave their results in files of their own.
Where forking is not to be had, or a worker dies, the tasks are done here: the results are the same.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from graphlint.analysis.units import Analyst, Result, Task

if TYPE_CHECKING:
    from graphlint.config import Config
    from graphlint.facts.project import Project

STACK_BYTES = 512 * 1024 * 1024
RECURSION_LIMIT = 40_000
# Python 3.11 and later keep the frames of a thread in chunks of 16 KB, and give the last one back to the
# system as soon as it is empty: calls in a loop just at its end cost two system calls and a page fault each
# (82,000 of them on megatron-core, a tenth of the time). A frame with room for so many objects gets a chunk
# of 8 MB; it touches none of it and leaves most to the frames above.
ROOM_OF_FRAMES = 600_000
# Trees and abstract values are many and long-lived, and little of them is garbage: looking for it after every
# 700 new objects, as Python does, takes a third of the time of a large project.
GARBAGE_THRESHOLD = 5_000_000
FEWEST_TASKS = 4  # below this a fork saves nothing
TASKS_OF_MANY_SEARCHES = 16  # so many search for enough names to pay for an index of all words
# So much text all processes together hold as syntax trees, which take fifteen times its bytes.
MOST_PARSED = 24_000_000
# After so many new objects the collector looks for what tasks have left behind; never again at what stays.
NEW_OBJECTS = 1_000_000
_GO = b"."


@dataclass(frozen=True, slots=True)
class _Worker:
    """Another process: a byte through `start` begins a round, one through `end` says that it is over."""

    pid: int
    start: int
    end: int


class Pool:
    """Does tasks in this process and, from the first round that pays for them, in `jobs` - 1 others."""

    def __init__(self, project: Project, config: Config, jobs: int) -> None:
        self._project = project
        self._analyst = Analyst(project, config)
        self._jobs = jobs
        self._workers: list[_Worker] = []
        self._round = 0
        self._open = contextlib.ExitStack()
        self._folder = Path()

    def __enter__(self) -> Pool:
        self._open.enter_context(seldom_collecting())
        self._open.callback(gc.unfreeze)
        self._project.keep_parsed()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for worker in self._workers:
            if kind is not None:
                os.kill(worker.pid, signal.SIGTERM)
            os.close(worker.start)
            os.close(worker.end)
            os.waitpid(worker.pid, 0)
        self._open.close()

    def do(self, tasks: list[Task]) -> dict[Task, Result]:
        """The result of every task."""
        done: dict[Task, Result] = {}
        if len(tasks) > 1 and (self._workers or self._fork_all(len(tasks))):
            done = self._share_out(tasks)
        return {task: done[task] if task in done else self._do_here(task) for task in tasks}

    def _do_here(self, task: Task) -> Result:
        result = with_deep_stack(lambda: self._analyst.do(task))
        most = MOST_PARSED // self._jobs
        if self._project.parsed_bytes() > most:
            self._project.forget(most * 2 // 3)
        if gc.get_count()[0] > NEW_OBJECTS:
            gc.collect()
            gc.freeze()
        return result

    # --- several processes -------------------------------------------------------------------------

    def _fork_all(self, tasks: int) -> bool:
        if self._jobs == 1 or tasks < FEWEST_TASKS or not sys.platform.startswith("linux"):
            return False
        if threading.active_count() > 1:
            return False
        if tasks >= TASKS_OF_MANY_SEARCHES:
            self._project.searches.prepare()
        self._folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="graphlint-")))
        gc.freeze()  # what is shared so far stays shared: the collector would write to it
        with contextlib.suppress(OSError):  # where no more processes are to be had, fewer must do
            for number in range(1, self._jobs):
                self._workers.append(self._fork(number))
        return bool(self._workers)

    def _fork(self, number: int) -> _Worker:
        wait, start = os.pipe()
        end, tell = os.pipe()
        pid = os.fork()
        if pid:
            os.close(wait)
            os.close(tell)
            return _Worker(pid, start, end)
        code = 1
        try:
            for inherited in (start, end, *(each.start for each in self._workers)):
                os.close(inherited)
            self._work(number, wait, tell)
            code = 0
        finally:
            os._exit(code)

    def _work(self, number: int, wait: int, tell: int) -> None:
        """The life of a worker: round after round, until the pool closes its pipe."""
        while os.read(wait, 1):
            self._round += 1
            tasks = [_task(row) for row in _read_json(self._folder / f"tasks{self._round}")]
            done = self._take(tasks, number)
            (self._folder / f"done{self._round}.{number}").write_text(json.dumps(done))
            os.write(tell, _GO)

    def _share_out(self, tasks: list[Task]) -> dict[Task, Result]:
        self._round += 1
        (self._folder / f"tasks{self._round}").write_text(json.dumps(tasks))
        for worker in self._workers:
            with contextlib.suppress(OSError):
                os.write(worker.start, _GO)
        done = self._take(tasks, 0)
        for number, worker in enumerate(self._workers, start=1):
            done += self._collect(number, worker)
        return {tasks[index]: result for index, result in done}

    def _take(self, tasks: list[Task], own: int) -> list[tuple[int, Result]]:
        """Do the tasks of the own stretch, then what is left of the others, from their ends."""
        stretches = [range(*(len(tasks) * n // self._jobs for n in (k, k + 1))) for k in range(self._jobs)]
        others = [
            index for stretch in (*stretches[own + 1 :], *stretches[:own]) for index in reversed(stretch)
        ]
        return [
            (index, self._do_here(tasks[index]))
            for index in (*stretches[own], *others)
            if self._is_mine(index)
        ]

    def _is_mine(self, index: int) -> bool:
        """Take a task of this round, unless another process has taken it."""
        try:
            os.close(os.open(self._folder / f"taken{self._round}.{index}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def _collect(self, number: int, worker: _Worker) -> list[tuple[int, Result]]:
        """What a worker has done in this round; nothing when it died."""
        if not os.read(worker.end, 1):
            return []
        return [(index, result) for index, result in _read_json(self._folder / f"done{self._round}.{number}")]


def _task(row: list[Any]) -> Task:
    """A task as it was before it was written down as JSON."""
    return tuple(tuple(part) if isinstance(part, list) else part for part in row)


def _read_json(path: Path) -> list[Any]:
    content: list[Any] = json.loads(path.read_text())
    return content


def with_deep_stack(work: Callable[[], Result]) -> Result:
    """Abstract calls nest deeply: run on a thread with a large stack and a high recursion limit."""
    results: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(_with_room(work))
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


def _call(work: Callable[[], Result]) -> Result:
    return work()


_with_room = FunctionType(_call.__code__.replace(co_stacksize=ROOM_OF_FRAMES), globals())


@contextlib.contextmanager
def seldom_collecting() -> Iterator[None]:
    """Look for garbage seldom."""
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], GARBAGE_THRESHOLD), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
