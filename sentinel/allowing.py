"""`[tool.graphlint.sentinel]`: findings that a project has decided to live with, each for a reason."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphlint.config import ConfigError, nearest_table
from graphlint.rules.registry import find, suggestion

if TYPE_CHECKING:
    from graphlint.sentinel.findings import Finding, Place

KEYS = ("allow", "max-findings")
ENTRY = ("code", "where", "reason")
MAX_FINDINGS = 20
_FUNCTION = re.compile(r"(?P<files>[^:]*):(?P<function>[^:/\\]+)")


@dataclass(frozen=True, slots=True)
class Allowed:
    """One entry: findings of `code` with a frame in `files` (patterns as in .gitignore) and `function`."""

    code: str
    where: str
    reason: str
    root: str = ""

    def covers(self, finding: Finding) -> bool:
        """Return whether the finding is of this code and one of its places is meant."""
        if finding.code != self.code:
            return False
        return any(self._means(place) for place in (*finding.captured, *finding.touched, *finding.replayed))

    def _means(self, place: Place) -> bool:
        split = _FUNCTION.fullmatch(self.where)
        files, function = split.group("files", "function") if split else (self.where, "*")
        return fnmatchcase(place.function, function) and self._has(files, place.file)

    def _has(self, files: str, path: str) -> bool:
        """Files below the folder of the settings are matched from there, others from the root of the disk."""
        from graphlint.ignorefiles import ignore_list

        absolute = os.path.realpath(path)
        base = self.root if absolute.startswith(self.root + os.sep) else os.path.abspath(os.sep)
        return files in ("", "*") or bool(ignore_list(base, [files]).verdict(absolute, is_folder=False))

    def __str__(self) -> str:
        return f"{self.code} in `{self.where}` ({self.reason})"


@dataclass(frozen=True, slots=True)
class Table:
    """The settings of the sentinel in a project: what is allowed, and how many findings are shown."""

    allow: tuple[Allowed, ...] = ()
    max_findings: int = MAX_FINDINGS

    def allowing(self, finding: Finding) -> Allowed | None:
        """Return the first entry that covers a finding."""
        return next((entry for entry in self.allow if entry.covers(finding)), None)


def load(start: Path) -> Table:
    """Return the settings in the nearest pyproject.toml from `start` upwards. Raises ConfigError."""
    file, table = nearest_table(start)
    if file is None or "sentinel" not in table:
        return Table()
    return table_from(table["sentinel"], file)


def table_from(table: object, file: Path) -> Table:
    """Return the settings that `[tool.graphlint.sentinel]` of a file states. Raises ConfigError."""
    where = f"{file}: [tool.graphlint.sentinel]"
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where} must be a table")
    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{where} has an unknown key `{key}`; known keys: {', '.join(KEYS)}")
    most = table.get("max-findings", MAX_FINDINGS)
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ConfigError(f"{where}: `max-findings` must be a number from 1")
    entries = table.get("allow", [])
    if not isinstance(entries, list):
        raise ConfigError(f"{where}: `allow` must be a list of tables")
    return Table(tuple(_entries(entries, file, f"{where}: `allow`")), most)


def _entries(entries: Iterable[Any], file: Path, where: str) -> Iterable[Allowed]:
    root = str(file.absolute().parent.resolve())
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, Mapping) or set(entry) != set(ENTRY):
            raise ConfigError(f"{where} entry {number} must have exactly the keys {', '.join(ENTRY)}")
        for key, value in entry.items():
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(f"{where} entry {number}: `{key}` must be a text that is not empty")
        rule = find(entry["code"])
        if rule is None:
            code = entry["code"]
            raise ConfigError(f"{where} entry {number}: unknown rule `{code}`{suggestion(code)}")
        yield Allowed(rule.code, entry["where"].strip(), entry["reason"].strip(), root)
