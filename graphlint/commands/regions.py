"""`graphlint regions`: what is captured, and what could not be followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphlint.commands.options import load, project_options, tell, write

if TYPE_CHECKING:
    from graphlint.regions import RegionReport


@click.command(short_help="Show what is captured, and which calls could not be followed.")
@project_options
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
@click.pass_context
def regions(
    context: click.Context,
    paths: tuple[Path, ...],
    config_file: Path | None,
    isolated: bool,
    no_cache: bool,
    jobs: int | None,
    output_format: str,
) -> None:
    """List the capture regions in PATHS, the functions they reach, and the calls that were not followed."""
    from graphlint import engine

    config = load(paths, config_file, isolated)
    result = engine.check(paths or (Path(),), config, use_cache=not no_cache, jobs=jobs)
    write(_document(result.regions) if output_format == "json" else _text(result.regions))
    tell(result.problems)
    context.exit(2 if result.problems else 0)


def _document(found: tuple[RegionReport, ...]) -> Iterator[str]:
    from graphlint.regions import shares

    rows = [_region_document(region) for region in found]
    yield json.dumps({"regions": rows, "shares": asdict(shares(found))}, indent=2) + "\n"


def _region_document(region: RegionReport) -> dict[str, Any]:
    from graphlint.formats.json import hop_document

    row = asdict(region)
    del row["calls"]  # hundreds of places that say nothing each: their shares say it
    row["replays"] = [hop_document(hop) for hop in region.replays]
    for captured, function in zip(row["captured"], region.captured, strict=True):
        captured["chain"] = [hop_document(hop) for hop in function.chain]
    return row


def _text(found: tuple[RegionReport, ...]) -> Iterator[str]:
    from graphlint.formats.style import count, printable

    for region in found:
        for line in _region_lines(region):
            yield printable(line) + "\n"
        yield "\n"
    captured = len(
        {(place.path, place.line, place.function) for region in found for place in region.captured}
    )
    unresolved = sum(len(region.unresolved) for region in found)
    yield (
        f"{count(len(found), 'capture region')}, {count(captured, 'captured function')}, "
        f"{count(unresolved, 'unresolved call')}\n"
    )
    yield from _shares(found)
    if unresolved:
        yield (
            "Say what an unresolved call runs: list the function under `captured` in [tool.graphlint], as\n"
            '"package.module:Class.method" or "path.py:function", or write `# graphlint: captured` on it.\n'
        )


def _shares(found: tuple[RegionReport, ...]) -> Iterator[str]:
    """How far calls in captured code were followed; nothing where there are none to follow."""
    from graphlint.regions import shares

    counted = shares(found)
    if counted.calls:
        yield (
            f"Followed {counted.resolved:,} of {counted.calls:,} calls in captured code, torch's functions "
            f"and builtins not counted; {counted.own_resolved:,} of {counted.own_calls:,} of the form "
            "`self.name(...)`\n"
        )


def _region_lines(region: RegionReport) -> Iterator[str]:
    yield f"{region.path}:{region.line}  {region.kind}"
    for function in region.captured:
        yield f"  captured    {function.path}:{function.line}  {function.function}"
    for call in region.unresolved:
        yield f"  unresolved  {call.path}:{call.line}  {call.text}  ({call.reason})"
    for left in region.left_behind:
        yield f"  leaves      {left.path}:{left.line}  {left.name}"
    for replay in region.replays:
        yield f"  replayed    {replay.path}:{replay.line}  {replay.function}"
