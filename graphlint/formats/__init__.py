"""Output formats: each module renders a report as pieces of text and knows nothing of the others."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from graphlint.formats.style import Style
    from graphlint.report import Report

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "statistics")


class Format(Protocol):
    """An emitter: yields the output in pieces, line ends included."""

    def __call__(self, report: Report, style: Style) -> Iterator[str]: ...


def format_named(name: str) -> Format:
    """Return the emitter of a name in FORMATS; its module is loaded only now."""
    return cast("Format", importlib.import_module(f"graphlint.formats.{name}").render)
