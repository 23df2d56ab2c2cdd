"""How many findings each rule has, the most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from graphlint.formats.style import Style
from graphlint.report import Report


def render(report: Report, style: Style) -> Iterator[str]:
    """Yield a line for each rule that has findings."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    width = len(str(max(counts.values(), default=0)))
    for (code, name), number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{number:{width}}  {code}  {name}\n"
