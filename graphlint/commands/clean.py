"""`graphlint clean`: remove what earlier runs kept."""

from __future__ import annotations

import os
from pathlib import Path

import click

from graphlint.commands.options import Trouble, load


@click.command(short_help="Remove the cache.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def clean(paths: tuple[Path, ...]) -> None:
    """Remove the cache of the project that PATHS belong to (default: the current folder)."""
    from graphlint.config import cache_folder
    from graphlint.facts.cache import clean as remove

    for path in paths:
        if not os.path.lexists(path):  # else the cache of a project around it would go
            raise Trouble(f"{path}: does not exist")
    folder = cache_folder(load(paths, None, isolated=True).root)
    try:
        removed = remove(folder)
    except OSError as error:
        raise Trouble(f"{folder}: cannot be removed: {error.strerror or error}") from None
    if removed:
        click.echo(f"removed {folder}")
    elif os.path.lexists(folder):
        raise Trouble(f"{folder}: is not a cache of graphlint and was left alone")
    else:
        click.echo(f"nothing to remove: there is no {folder}")
