"""Options that several commands share, and how commands say that something went wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from graphlint.config import Config
    from graphlint.problem import Problem

F = TypeVar("F", bound=Callable[..., Any])


class Trouble(click.ClickException):
    """Something that keeps a command from doing its work: one message, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"graphlint: {self.format_message()}", file=file, err=file is None)


def project_options(command: F) -> F:
    """Add the paths and the options that say where the settings come from."""
    decorators: tuple[Callable[[F], F], ...] = (
        click.option(
            "-j",
            "--jobs",
            type=click.IntRange(min=1),
            metavar="N",
            help="How many processes to use (default: one for each processor).",
        ),
        click.option(
            "--no-cache", is_flag=True, help="Read every file anew and keep nothing for later runs."
        ),
        click.option("--isolated", is_flag=True, help="Use no configuration file."),
        click.option(
            "--config",
            "config_file",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Use the [tool.graphlint] table of this file.",
        ),
        click.argument("paths", nargs=-1, type=click.Path(path_type=Path, readable=False)),
    )
    for decorate in decorators:
        command = decorate(command)
    return command


def load(
    paths: tuple[Path, ...],
    config_file: Path | None,
    isolated: bool,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Config:
    """Return the settings for a command line. Raises Trouble."""
    from graphlint.config import ConfigError, load_config

    if config_file is not None and isolated:
        raise Trouble("--config and --isolated exclude each other")
    _require_current_folder()
    try:
        config = load_config(paths, config_file, isolated=isolated)
        return config.override(_codes("--select", select), _codes("--ignore", ignore))
    except ConfigError as error:
        raise Trouble(str(error)) from None


def _require_current_folder() -> None:
    """Every path is meant from it, and so is what is shown. Raises Trouble."""
    try:
        os.getcwd()
    except OSError as error:
        raise Trouble(f"the current folder: cannot be used: {error.strerror or error}") from None


def _codes(option: str, values: Iterable[str]) -> list[str]:
    given = list(values)
    codes = [code for value in given for code in value.split(",") if code.strip()]
    if given and not codes:
        raise Trouble(f"{option}: names no rule")  # an empty variable must not widen or narrow a run unseen
    return codes


def write(pieces: Iterable[str]) -> None:
    """Write to standard output in UTF-8, whatever the locale; file names that are not text are escaped.

    Raises Trouble where it cannot be written, but for a pipe that the reader has closed.
    """
    stream = sys.stdout.buffer
    try:
        for piece in pieces:
            stream.write(piece.encode("utf-8", "backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Trouble(f"standard output: cannot be written: {error.strerror or error}") from None


def tell(problems: Iterable[Problem]) -> None:
    """Write problems to standard error, one a line."""
    for problem in problems:
        place = f"{problem.path}:{problem.line}" if problem.line > 1 else problem.path
        click.echo(f"graphlint: {place}: {problem.reason}", err=True)
