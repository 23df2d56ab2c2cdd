"""The page of a rule for people: Markdown as it is written, or laid out where there is colour."""

from __future__ import annotations

import io
import re

from graphlint.formats.style import Style

# What the tests of the pages read in the examples. A reader wants to know which line is meant, no more.
_FINE = re.compile(r"[ \t]*#[ \t]*ok:[ \t]*CG[\d, CG]+$", re.MULTILINE)
_REPORTED = re.compile(r"#[ \t]*expect:[ \t]*(?=CG\d{3})")
_RELATIVE = re.compile(r"\[([^\]]+)\]\((\.\./[^)\s]+|\w+\.md)\)")


def render(page: str, style: Style) -> str:
    """Return the page, its examples without the marks of the tests: a reported line has the code only.

    Links to other pages lead nowhere after an installation; a rule is explained by its name.
    """
    text = _RELATIVE.sub(_without_link, _REPORTED.sub("# ", _FINE.sub("", page)))
    return _laid_out(text) if style.color else text


def _without_link(link: re.Match[str]) -> str:
    """The text of a link to a rule; of one to another page with the place of that in the source."""
    text, target = link[1], link[2]
    return f"{text} ({target.removeprefix('../')} in the source)" if target.startswith("../") else text


def _laid_out(text: str) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    file = io.StringIO()
    Console(file=file, force_terminal=True).print(Markdown(text, code_theme="ansi_dark"))
    return file.getvalue()
