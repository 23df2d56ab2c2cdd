"""`graphlint run`: a program as it would run without it, and then what the sentinel saw."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from graphlint.config import ConfigError
from graphlint.formats.style import tty_style
from graphlint.problem import describe
from graphlint.sentinel import allowing, reporting
from graphlint.sentinel.programs import NoProgramError, Program, without_own_frames
from graphlint.sentinel.session import has_device, watch
from graphlint.sentinel.settings import OFF, Request

if TYPE_CHECKING:
    from graphlint.report import Report
    from graphlint.sentinel.session import Watch

FOUND = 1
TROUBLE = 2


@dataclass(frozen=True, slots=True)
class Launch:
    """A program to run, how to watch it, and files for the report by the name of their format."""

    program: Program
    request: Request
    files: tuple[tuple[str, Path], ...] = ()


@dataclass(slots=True)
class Ending:
    """How a program came to its end: its exit code, or that the user has interrupted it."""

    code: int = 0
    interrupted: bool = False


def run(launch: Launch) -> int:
    """Run a program, tell on standard error what was found, and return the exit code.

    It is the program's own, but 1 where that is 0 and there are findings, and 2 where nothing could be run
    or a file of the report not be written. Raises KeyboardInterrupt, of which nothing more is to be shown,
    where the user has interrupted the program.
    """
    telling = Telling(sys.stderr, Path.cwd(), tuple((name, path.absolute()) for name, path in launch.files))
    ending = Ending()
    try:
        table = allowing.load(telling.root)
        with watching(launch.request) as watch, _with_children(watch, launch.request):
            ending = ended(launch.program)
        found = telling.tell(watch, table) if watch is not None else 0
    except (NoProgramError, ConfigError) as error:
        return telling.trouble(str(error))
    except Exception as error:
        if os.environ.get("GRAPHLINT_DEBUG"):
            raise
        found = telling.trouble(f"internal error, please report it: {describe(error)}")
    if ending.interrupted:
        sys.excepthook = lambda *_: None  # it was shown; Python only has to end as it does then
        raise KeyboardInterrupt
    return ending.code or found


@contextmanager
def watching(request: Request) -> Iterator[Watch | None]:
    """Watch the block, unless that is off. Raises NoProgramError where it cannot be watched."""
    if request.mode == OFF:
        yield None
        return
    if importlib.util.find_spec("torch") is None:
        raise NoProgramError("the sentinel watches torch, which is not installed")
    with ExitStack() as stack:
        try:
            seen = stack.enter_context(watch(request.mode or "watch", virtual=bool(request.virtual)))
        except RuntimeError as error:
            raise NoProgramError(str(error)) from None
        yield seen


def _with_children(watch: Watch | None, request: Request) -> AbstractContextManager[None]:
    if watch is None or not has_device():
        return nullcontext()
    from graphlint.sentinel.children import followed

    return followed(watch, bool(request.virtual))


def ended(program: Program) -> Ending:
    """Run a program to its end, that of its threads included, and show what it dies of as Python does."""
    ending = Ending()
    for stage in (program.execute, _wait_for_threads, _wait_for_children):
        try:
            stage()
        except SystemExit as end:
            ending.code = ending.code or _code_of(end)
        except KeyboardInterrupt as stop:
            _show(stop)
            ending.interrupted = True
        except NoProgramError:
            raise
        except BaseException as error:
            _show(error)
            ending.code = 1
    sys.stdout.flush()
    return ending


def _wait_for_threads() -> None:
    """Wait as the interpreter does before it ends, which it will find done: executors need its own way."""
    threading._shutdown()  # type: ignore[attr-defined]


def _wait_for_children() -> None:
    """Wait as `multiprocessing` does when the interpreter ends, but before the report."""
    multiprocessing = sys.modules.get("multiprocessing")
    for child in multiprocessing.active_children() if multiprocessing else ():
        if not child.daemon:
            child.join()


def _code_of(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    print(end.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    """Show an exception through the program's own hook, if it has one, without the frames that ran it."""
    error.__traceback__ = without_own_frames(error)
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except Exception:
        sys.__excepthook__(type(error), error, error.__traceback__)


@dataclass(frozen=True, slots=True)
class Telling:
    """Where to tell: standard error as it was at the beginning, and files; paths are shown from `root`."""

    stderr: TextIO
    root: Path
    files: tuple[tuple[str, Path], ...] = ()

    def tell(self, watch: Watch, table: allowing.Table) -> int:
        """Tell what a watch has found, and return the exit code for it."""
        outcome = reporting.outcome_of(watch, table, self.root)
        shown = reporting.at_most(outcome.report, table.max_findings)
        self._print(reporting.rendered("text", shown, tty_style(is_terminal=self.stderr.isatty())))
        self._print("".join(f"graphlint: {line}\n" for line in reporting.unused(table, outcome.used)))
        return max([FOUND if outcome.findings else 0, *self._write(outcome.report)])

    def trouble(self, reason: str) -> int:
        """Say what went wrong, and return the exit code for it."""
        self._print(f"graphlint: {reason}\n")
        return TROUBLE

    def _write(self, report: Report) -> Iterable[int]:
        for name, path in self.files:
            try:
                path.write_text(reporting.rendered(name, report), encoding="utf-8")
            except OSError as error:
                yield self.trouble(f"{path}: cannot be written: {error.strerror or error}")

    def _print(self, text: str) -> None:
        encoding = self.stderr.encoding or "utf-8"
        self.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self.stderr.flush()
