"""Where the process begins and ends: `--version` answers without the command line's imports."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from graphlint import __version__

# More new objects than nearly every run makes: what is made stays needed to the end (`analysis/workers.py`).
GARBAGE_THRESHOLD = 10_000_000
VERSION = f"graphlint {__version__} (Python {sys.version.split()[0]})"


def _fill_closed_streams() -> None:
    """Where the caller has closed standard output or error, what is written there to the end goes nowhere."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _leave(code: int, error: OSError | None = None) -> NoReturn:
    """End the process with its output written, or with exit code 2 and the reason why it could not be."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader has seen enough
    except OSError as failed:
        code, error = 2, None if code == 2 and not error else failed  # a command that fails has said why
    if error:
        print(f"graphlint: standard output: cannot be written: {error.strerror or error}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Run the command line of this process, and leave without tearing down what it has built.

    Python would look for garbage among millions of nodes and free them one by one before it exits.
    """
    _fill_closed_streams()
    if sys.argv[1:2] == ["run"]:
        from graphlint.commands.run import main as run

        # A program is at work: it keeps its garbage collection, and the interpreter ends as it always does.
        sys.exit(run(sys.argv[2:]))
    try:
        _answer()
        _leave(0)
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        _leave(end.code or 0)
    except OSError as error:
        if error.filename is not None:
            raise
        _leave(2, error)


def _answer() -> None:
    if sys.argv[1:] == ["--version"]:
        print(VERSION)
        return
    from graphlint.cli import cli

    gc.set_threshold(GARBAGE_THRESHOLD)
    cli(prog_name="graphlint")
