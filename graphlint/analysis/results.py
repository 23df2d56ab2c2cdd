"""The results cache: what each unit found in an earlier run, used again while what it rests on holds.

A result holds when graphlint and the configuration are the same, every file that the unit read has the
same content, every search that it made finds the same files, and every name means the same file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphlint
from graphlint.analysis import packing
from graphlint.analysis.units import UnitResult
from graphlint.facts import cachefile

if TYPE_CHECKING:
    from graphlint.config import Config
    from graphlint.facts.project import Project

FILE_NAME = "results.bin"


class ResultsCache:
    """Unit results kept in a folder; `folder` None keeps nothing."""

    def __init__(self, folder: Path | None, project: Project, config: Config) -> None:
        self._file = folder / FILE_NAME if folder is not None else None
        self._header = _header(config, project)
        self._digests = project.digests()
        self._project = project
        loaded = cachefile.load(self._file, self._header) if self._file is not None else None
        self._old: dict[str, Any] = loaded or {"digests": {}, "units": {}}
        self._changed = _changed(self._old["digests"], self._digests)
        self._same_files = self._old["digests"].keys() == self._digests.keys()
        self._units: dict[str, dict[str, Any]] = {}
        self._learned = loaded is None or bool(self._changed)

    def get(self, path: str) -> UnitResult | None:
        """The kept result for a marked file, if it still holds."""
        packed = self._old["units"].get(path)
        if packed is None or not self._holds(packed):
            return None
        self._units[path] = packed
        return packing.unpack(packed)

    def put(self, path: str, packed: dict[str, Any]) -> None:
        self._units[path] = packed
        self._learned = True

    def save(self) -> None:
        """Write the cache when the run learned something."""
        if self._file is not None and self._learned:
            content = {"digests": self._digests, "units": self._units}
            cachefile.save(self._file, self._header, content)

    def _holds(self, packed: dict[str, Any]) -> bool:
        if not self._changed and self._same_files:
            return True
        if not self._changed.isdisjoint(packed["files"]):
            return False
        return self._searches_hold(packed) and (self._same_files or self._names_hold(packed))

    def _searches_hold(self, packed: dict[str, Any]) -> bool:
        for kind, name, found in packed["searches"]:
            before = set(found)
            for path in self._changed:
                now = path in self._digests and self._project.still_finds((kind, name), path)
                if now is not (path in before):
                    return False
        return True

    def _names_hold(self, packed: dict[str, Any]) -> bool:
        return all(
            self._project.resolves_to(dotted, importer) == path for dotted, importer, path in packed["names"]
        )


def _changed(old: dict[str, str], new: dict[str, str]) -> set[str]:
    """Files that were added, removed or have other content."""
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def _header(config: Config, project: Project) -> bytes:
    hasher = hashlib.blake2b(digest_size=8)
    declared = (config.captured, config.guards, config.in_force)
    settings = (config.select, config.ignore, declared, project.display("."))
    hasher.update(repr(settings).encode())
    package = Path(graphlint.__file__).parent
    for source in sorted([*package.rglob("*.py"), *(package / "rules").rglob("*.*")]):
        status = source.stat()
        hasher.update(f"{source.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return f"graphlint results 1 {graphlint.__version__} {hasher.hexdigest()}\n".encode()
