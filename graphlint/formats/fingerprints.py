"""What a finding is known by from run to run: its rule, its file and the text of its line, not the number."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from graphlint.finding import Finding
from graphlint.sources import Sources


def fingerprints(findings: Iterable[Finding], sources: Sources) -> list[str]:
    """Return a fingerprint for each finding; the second one of the same text gets another than the first."""
    seen: Counter[str] = Counter()
    made = []
    for finding in findings:
        place = f"{finding.code}\0{finding.path}\0{line_of(finding, sources)}"
        seen[place] += 1
        made.append(_hash(f"{place}\0{seen[place]}"))
    return made


def line_of(finding: Finding, sources: Sources) -> str:
    """Return the text of the line that a finding begins on, with single spaces."""
    lines = sources.lines(finding.path)
    return " ".join(lines[finding.span.line - 1].split()) if finding.span.line <= len(lines) else ""


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
