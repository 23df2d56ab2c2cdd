"""The outcome of the last run, given again while nothing that it came from has changed.

It is `last.bin` in the cache folder (`facts/cachefile.py`), written under the whole configuration, the
working folder and the code of graphlint itself. It holds the status of every file of the run; files so young
that a later change could hide behind the clock's resolution keep it from being written, as does a crash.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphlint import packing
from graphlint.config import Config
from graphlint.discovery import FoundFile
from graphlint.facts import cachefile
from graphlint.problem import Problem
from graphlint.report import CheckResult, Summary
from graphlint.sources import Sources

FILE_NAME = "last.bin"
_RACY_NS = 2_000_000_000


class LastRun:
    """What is kept of the run before this one over `files`; made before any of them is read."""

    def __init__(self, folder: Path, files: Sequence[FoundFile], config: Config) -> None:
        self._file = folder / FILE_NAME
        self._header = cachefile.header("last run", 1, _settings(config))
        self._latest = time.time_ns() - _RACY_NS
        self._statuses = _statuses(files, config)

    def result(self, sources: Sources) -> CheckResult | None:
        """What the last run found, if it holds for these files as they are now."""
        kept = cachefile.load(self._file, self._header)
        if self._statuses is None or kept is None or kept["files"] != self._statuses:
            return None
        return CheckResult(
            tuple(packing.findings_in(kept)),
            tuple(packing.problems_in(kept)),
            tuple(packing.regions_in(kept)),
            Summary(*kept["summary"]),
            sources,
            tuple(Problem(*row) for row in kept["unneeded"]),
        )

    def keep(self, result: CheckResult) -> None:
        """Keep what this run found, where that is sure to be found again."""
        if self._statuses is None or any(max(row[:2]) >= self._latest for row in self._statuses.values()):
            return
        if not all(problem.is_source for problem in result.problems):
            return
        content = {
            "files": self._statuses,
            **packing.pack(result.findings, result.regions, result.problems),
            "summary": dataclasses.astuple(result.summary),
            "unneeded": [dataclasses.astuple(each) for each in result.unneeded],
        }
        cachefile.save(self._file, self._header, content)


def _settings(config: Config) -> str:
    return hashlib.blake2b(f"{config!r} {os.getcwd()}".encode(), digest_size=8).hexdigest()


def _statuses(files: Sequence[FoundFile], config: Config) -> dict[str, list[Any]] | None:
    """Times, size and role of every file, and of the configuration; None where one cannot be looked at."""
    if any(file.given is not None for file in files):
        return None
    asked = [(str(file.path), file.named) for file in files]
    if config.file is not None:
        asked.append((str(config.file), True))
    try:
        return {path: [*_times_and_size(path), is_named] for path, is_named in asked}
    except (OSError, ValueError):
        return None


def _times_and_size(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size
