"""`graphlint rules`: the catalogue as a list."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from graphlint.commands.options import write


@click.command()
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
def rules(output_format: str) -> None:
    """List every rule: code, name, level and what it finds."""
    write(_document() if output_format == "json" else _text())


def _document() -> Iterator[str]:
    from graphlint.rules.registry import all_rules

    listed = [
        {
            "code": rule.code,
            "name": rule.name,
            "hazard": rule.hazard,
            "level": rule.level.value,
            "summary": rule.summary,
        }
        for rule in all_rules()
    ]
    yield json.dumps({"rules": listed}, indent=2) + "\n"


def _text() -> Iterator[str]:
    from graphlint.rules.registry import all_rules

    column = max(len(rule.name) for rule in all_rules())
    for rule in all_rules():
        yield f"{rule.code}  {rule.name:{column}}  {rule.level.value:7}  {rule.summary}\n"
