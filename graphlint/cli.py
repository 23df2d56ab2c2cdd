"""The command line. Nothing heavy is imported here: `--version` and `--help` answer at once."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from graphlint import __version__
from graphlint.commands.options import Trouble
from graphlint.start import VERSION

COMMANDS = ("check", "clean", "explain", "regions", "rules", "run")


class Commands(click.Group):
    """The commands by name, loaded when used; a crash of one is a message and exit code 2."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"graphlint.commands.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click ends these as they should end, a closed pipe without a word
        except KeyboardInterrupt:
            context.exit(130)
        except Exception as error:
            if os.environ.get("GRAPHLINT_DEBUG") or _of_output(error):
                raise
            reason = f"internal error, please report it: {type(error).__name__}: {error}"
            raise Trouble(reason) from None


def _of_output(error: Exception) -> bool:
    """Whether it is about standard output: it names no file (`start.py` says so and ends the process)."""
    return isinstance(error, OSError) and error.filename is None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message=VERSION)
def cli() -> None:
    """Find CUDA-graph capture hazards in PyTorch code."""
