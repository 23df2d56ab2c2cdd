"""The page of a rule for people: Markdown as it is written, or laid out where there is colour."""

from __future__ import annotations

import io
import re

from graphlint.formats.style import Style

# What the tests of the pages read in the examples. A reader wants to know which line is meant, no more.
_FINE = re.compile(r"[ \t]*#[ \t]*ok:[ \t]*CG[\d, CG]+$", re.MULTILINE)
_REPORTED = re.compile(r"#[ \t]*expect:[ \t]*(?=CG\d{3})")


def render(page: str, style: Style) -> str:
    """Return the page, its examples without the marks of the tests: a reported line has the code only."""
    text = _REPORTED.sub("# ", _FINE.sub("", page))
    return _laid_out(text) if style.color else text


def _laid_out(text: str) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    file = io.StringIO()
    Console(file=file, force_terminal=True).print(Markdown(text, code_theme="ansi_dark"))
    return file.getvalue()
