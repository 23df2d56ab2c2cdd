"""`graphlint clean`: remove what earlier runs kept."""

from __future__ import annotations

from pathlib import Path

import click

from graphlint.commands.options import Trouble, load


@click.command(short_help="Remove the cache.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def clean(paths: tuple[Path, ...]) -> None:
    """Remove the cache of the project that PATHS belong to (default: the current folder)."""
    from graphlint.config import cache_folder
    from graphlint.facts.cache import clean as remove

    folder = cache_folder(load(paths, None, isolated=True).root)
    try:
        removed = remove(folder)
    except OSError as error:
        raise Trouble(f"{folder}: cannot be removed: {error.strerror or error}") from None
    if removed:
        click.echo(f"removed {folder}")
    elif folder.exists():
        raise Trouble(f"{folder}: is not a cache of graphlint and was left alone")
