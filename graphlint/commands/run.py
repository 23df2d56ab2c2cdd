"""`graphlint run`: run a program and watch its graphs. The only command that runs what it is given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphlint.commands.options import Trouble
from graphlint.sentinel.settings import MODES, Request, SettingsError, request_in

if TYPE_CHECKING:
    from graphlint.sentinel.running import Launch


@click.command(
    short_help="Run a program and report the hazards that happen.",
    context_settings={"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]},
)
@click.option(
    "--mode", type=click.Choice(MODES), help="How closely to look, from cheap to thorough (default: watch)."
)
@click.option("--virtual", is_flag=True, help="Run on a virtual CUDA device, without a GPU.")
@click.option("-m", "is_module", is_flag=True, help="PROGRAM is a module, as in `python -m`.")
@click.option(
    "--report-json", metavar="FILE", type=click.Path(path_type=Path), help="Write the findings as JSON, too."
)
@click.option(
    "--report-sarif",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the findings as SARIF, too.",
)
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Run PROGRAM, a script or with -m a module, as Python would, watch its CUDA graphs, and report.

    The report follows the program's own output, on standard error. What no option says is taken from the
    environment variable GRAPHLINT_SENTINEL, such as `test,virtual`.

    Exit code: that of the program; 1 where that is 0 and there are findings; 2 for wrong usage or when there
    is nothing to run.
    """
    context.exit(_run(launch_of(**options)))


def launch_of(
    program: str,
    arguments: tuple[str, ...],
    is_module: bool,
    mode: Any,
    virtual: bool,
    report_json: Path | None,
    report_sarif: Path | None,
) -> Launch:
    """Return what a command line asks for. Raises Trouble."""
    from graphlint.sentinel.programs import Program
    from graphlint.sentinel.running import Launch

    try:
        stated = request_in(os.environ) or Request()
    except SettingsError as error:
        raise Trouble(str(error)) from None
    request = Request(mode or stated.mode or "watch", bool(virtual or stated.virtual))
    files = (("json", report_json), ("sarif", report_sarif))
    written = tuple((name, path) for name, path in files if path is not None)
    return Launch(Program(program, arguments, is_module), request, written)


def main(arguments: Sequence[str]) -> int:
    """Run the command with nothing of click's on the stack below the program, and return the exit code."""
    try:
        with run.make_context("graphlint run", list(arguments)) as context:
            launch = launch_of(**context.params)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return _run(launch)


def _run(launch: Launch) -> int:
    from graphlint.sentinel.running import run as run_program

    return run_program(launch)
