"""Findings that a project has decided to live with: what was there when the linter came, listed in a file.

A finding is known by its file, its rule and the text of its line, never by the number of the line, so that
code may move. As many are left out as are listed; one more of the same kind is shown.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphlint.finding import Finding
from graphlint.formats.fingerprints import line_of
from graphlint.replacing import replace
from graphlint.sources import Sources

VERSION = 1
Key = tuple[str, str, str]


class BaselineError(Exception):
    """A baseline that cannot be used; the message names the file and the reason."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The findings that are left out, by the folder that their paths are meant from."""

    root: Path
    known: Counter[Key]

    def split(self, findings: Iterable[Finding], sources: Sources) -> tuple[list[Finding], int]:
        """Return the findings that are new, and how many entries no finding needs any more."""
        left = self.known.copy()
        new: list[Finding] = []
        for finding in findings:
            key = _key(finding, sources, self.root)
            if left[key] > 0:
                left[key] -= 1
            else:
                new.append(finding)
        return new, left.total()


def read(file: Path, root: Path) -> Baseline:
    """Return the baseline that a file holds. Raises BaselineError."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{file}: is not JSON: {error}") from None
    try:
        return Baseline(root, Counter(dict(map(_entry, _entries(document)))))
    except (KeyError, TypeError, ValueError):
        raise BaselineError(f"{file}: is not a baseline of this version of graphlint") from None


def _entries(document: Any) -> list[dict[str, Any]]:
    if document["version"] != VERSION:
        raise ValueError
    return list(document["findings"])


def _entry(entry: dict[str, Any]) -> tuple[Key, int]:
    count = entry["count"]
    if not isinstance(count, int) or count < 1:
        raise ValueError
    return (entry["path"], entry["code"], entry["line"]), count


def write(file: Path, findings: Sequence[Finding], sources: Sources, root: Path) -> None:
    """Write a baseline that lists the findings. Raises BaselineError."""
    counts = Counter(_key(finding, sources, root) for finding in findings)
    listed = [
        {"path": path, "code": code, "line": line, "count": count}
        for (path, code, line), count in sorted(counts.items())
    ]
    text = json.dumps({"version": VERSION, "findings": listed}, indent=2, ensure_ascii=False) + "\n"
    try:
        replace(file, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise BaselineError(f"{file}: cannot be written: {error.strerror or error}") from None


def _key(finding: Finding, sources: Sources, root: Path) -> Key:
    path = os.path.relpath(os.path.realpath(finding.path), root).replace(os.sep, "/")
    return path, finding.code, line_of(finding, sources)
