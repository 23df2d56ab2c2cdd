"""Colour, width and control characters: what makes text fit for a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

# Everything that would move the cursor, end the line or change the terminal's state.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Style:
    """How to write: in colour or not, and whether with more than the findings."""

    color: bool = False
    quiet: bool = False

    def paint(self, text: str, style: str) -> str:
        """Return the text in a rich style, or as it is where there is no colour."""
        if not self.color or not text:
            return text
        from rich.color import ColorSystem
        from rich.style import Style as RichStyle

        return RichStyle.parse(style).render(text, color_system=ColorSystem.STANDARD)


def wants_color(environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Return whether to write in colour: NO_COLOR, then FORCE_COLOR, then the terminal decide."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


def printable(text: str) -> str:
    """Return the text on one line without control characters; tabs become four spaces."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", "    "))


def width(text: str) -> int:
    """Return how many terminal cells a printable text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where needed."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tty_style(*, is_terminal: bool, quiet: bool = False) -> Style:
    """Return the style for an output stream of this process."""
    return Style(wants_color(os.environ, is_terminal=is_terminal), quiet)
