"""`graphlint explain`: the page of a rule."""

from __future__ import annotations

import sys

import click

from graphlint.commands.options import Trouble, write


@click.command()
@click.argument("rule", metavar="RULE")
def explain(rule: str) -> None:
    """Print the page of a rule, given by code or name."""
    from graphlint.formats import page
    from graphlint.formats.style import tty_style
    from graphlint.rules.registry import find, suggestion

    found = find(rule)
    if found is None:
        raise Trouble(f"unknown rule `{rule}`{suggestion(rule)}")
    try:
        text = found.page().read_text(encoding="utf-8")
    except OSError as error:
        raise Trouble(f"the page of {found.code} cannot be read: {error}") from None
    write([page.render(text, tty_style(is_terminal=sys.stdout.isatty()))])
