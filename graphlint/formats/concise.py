"""One line a finding: `path:line:column: CODE message`, for editors and grep."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.finding import Finding
from graphlint.formats.style import Style, printable
from graphlint.report import Report


def render(report: Report, style: Style) -> Iterator[str]:
    """Yield a line for each finding."""
    for finding in report.findings:
        yield concise_line(finding) + "\n"


def concise_line(finding: Finding) -> str:
    """Return a finding as one line without its line end."""
    place = f"{finding.path}:{finding.span.line}:{finding.span.column}"
    return printable(f"{place}: {finding.code} {finding.message}")
