"""Where the process begins and ends: `--version` answers without the command line's imports."""

from __future__ import annotations

import gc
import os
import sys

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


def main() -> None:
    """Run the command line of this process, and leave without tearing down what it has built.

    Python would look for garbage among millions of nodes and free them one by one before it exits.
    """
    if sys.argv[1:] == ["--version"]:
        print(VERSION)
        return
    _fill_closed_streams()
    if sys.argv[1:2] == ["run"]:
        from graphlint.commands.run import main as run

        # A program is at work: it keeps its garbage collection, and the interpreter ends as it always does.
        sys.exit(run(sys.argv[2:]))
    from graphlint.cli import cli

    gc.set_threshold(GARBAGE_THRESHOLD)
    try:
        cli(prog_name="graphlint")
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code or 0)
