"""The results cache: what each task gave in an earlier run, used again while what it rests on holds.

A result holds when graphlint, the configuration and the profiles in force are the same, every part of a file
that was looked at is the same (`facts/outline.py`), every search finds the same files, and every name means
the same file. What tasks rest on is kept once for all of them: they ask much the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphlint import packing
from graphlint.facts import cachefile
from graphlint.facts.outline import PLACED

if TYPE_CHECKING:
    from graphlint.analysis.units import Do, Result, Task
    from graphlint.config import Config
    from graphlint.facts.project import Project
    from graphlint.profiles import Profile

FILE_NAME = "results.bin"
_BASIS = ("parts", "searches", "names")
_SEARCHES = 1
_NOTHING: dict[str, Any] = {"digests": {}, "rows": {}, "tables": [[], [], []], "in_force": "", "noted": {}}
MOST_CHANGED = 200  # with more changed files a search through all is as quick as looking into each


class ResultsCache:
    """Results of tasks kept in a folder; `folder` None keeps nothing."""

    def __init__(self, folder: Path | None, project: Project, config: Config) -> None:
        self._file = folder / FILE_NAME if folder is not None else None
        self._header = cachefile.header("results", 5, _settings(config, project))
        self._digests = project.digests()
        self._project = project
        loaded = cachefile.load(self._file, self._header) if self._file is not None else None
        self._old: dict[str, Any] = loaded or _NOTHING
        self._changed = _changed(self._old["digests"], self._digests)
        self._same_files = self._old["digests"].keys() == self._digests.keys()
        self._held: dict[str, Any] = {}  # rows that hold, as they were kept
        self._done: dict[str, Result] = {}
        self._learned = loaded is None or bool(self._changed)
        self._spoilt: tuple[frozenset[int], ...] | None = None
        self._in_force = ""
        self._noted: dict[str, list[str]] = {}
        if loaded is not None and len(self._changed) <= MOST_CHANGED:
            known = {(kind, name): tuple(found) for kind, name, found in self._old["tables"][_SEARCHES]}
            project.searches.recall(known, frozenset(self._changed))

    def use_profiles(self, in_force: Iterable[Profile]) -> None:
        """Say which profiles are in force: results under others do not hold."""
        self._in_force = repr(in_force)
        if self._in_force != self._old["in_force"]:
            self._old = {**self._old, "rows": {}}

    def use_notes(self, noted: Mapping[str, list[str]]) -> None:
        """Say which files are prepared for roots, and what is declared in them from outside."""
        self._noted = dict(noted)
        before = self._old["noted"]
        self._changed |= {
            path for path in noted.keys() | before.keys() if noted.get(path) != before.get(path)
        }

    def complete(self, do: Do, tasks: list[Task]) -> dict[Task, Result]:
        """The results of tasks: those that are kept and hold, and those that `do` gives for the others."""
        known = {task: result for task in tasks if (result := self._get(_key(task))) is not None}
        for task, result in do([task for task in dict.fromkeys(tasks) if task not in known]).items():
            self._done[_key(task)] = known[task] = result
            self._learned = True
        return {task: known[task] for task in tasks}

    def _get(self, key: str) -> Result | None:
        row = self._old["rows"].get(key)
        if row is None:
            return None
        basis, content = row
        if (self._changed or not self._same_files) and not self._holds(basis):
            return None
        self._held[key] = row
        return content  # type: ignore[no-any-return]

    def _holds(self, basis: list[list[int]]) -> bool:
        """Whether nothing that a result rests on is among what does not hold any more."""
        if self._spoilt is None:
            checks = (self._looks_the_same, self._finds_the_same, self._means_the_same)
            self._spoilt = tuple(
                frozenset(number for number, entry in enumerate(table) if not check(entry))
                for table, check in zip(self._old["tables"], checks, strict=True)
            )
        return all(spoilt.isdisjoint(part) for spoilt, part in zip(self._spoilt, basis, strict=True))

    def _looks_the_same(self, entry: list[str]) -> bool:
        path, part, digest = entry
        if path not in self._changed:
            return True
        placed = part.startswith(PLACED)
        return self._project.digest_of(path, part.removeprefix(PLACED), placed=placed) == digest

    def _finds_the_same(self, search: list[Any]) -> bool:
        kind, name, found = search
        before = self._changed.intersection(found)
        now = {
            p
            for p in self._changed & self._digests.keys()
            if self._project.searches.still_finds((kind, name), p)
        }
        return now == before

    def _means_the_same(self, entry: list[str]) -> bool:
        dotted, importer, path = entry
        return self._same_files or self._project.resolves_to(dotted, importer) == path

    def save(self) -> None:
        """Write the cache when the run learned something."""
        if self._file is None or not self._learned:
            return
        held = list(self._held.values())
        tables = [_Table(table, [row[0][n] for row in held]) for n, table in enumerate(self._old["tables"])]
        rows = {
            key: [[table.moved(part) for table, part in zip(tables, basis, strict=True)], content]
            for key, (basis, content) in self._held.items()
        }
        for key, result in self._done.items():
            rows[key] = [_numbered(result, tables), _content(result)]
        for (kind, name), found in self._project.searches.made.items():
            tables[_SEARCHES].number([kind, name, list(found)])
        entries = [table.entries for table in tables]
        content = {"digests": self._digests, "rows": rows, "tables": entries, "in_force": self._in_force}
        content["noted"] = self._noted
        cachefile.save(self._file, self._header, content)


class _Table:
    """Entries that are kept once: two words that say what was asked, and the answer.

    It begins with the entries of an earlier table that are `used` by rows that still hold.
    """

    def __init__(self, earlier: list[Any], used: Iterable[list[int]]) -> None:
        kept = sorted(set().union(*used))
        self.entries = [earlier[number] for number in kept]
        self._moved = {number: at for at, number in enumerate(kept)}
        self._numbers = {(entry[0], entry[1]): at for at, entry in enumerate(self.entries)}

    def moved(self, numbers: list[int]) -> list[int]:
        """The numbers of entries that had these in the earlier table."""
        return [self._moved[number] for number in numbers]

    def number(self, entry: Any) -> int:
        asked = (entry[0], entry[1])
        if asked not in self._numbers:
            self._numbers[asked] = len(self.entries)
            self.entries.append(entry)
        return self._numbers[asked]


def _key(task: Task) -> str:
    return json.dumps(task)


def _content(result: Result) -> Result:
    return {name: value for name, value in result.items() if name != "basis"}


def _numbered(result: Result, tables: list[_Table]) -> list[list[int]]:
    """What a result rests on, by its numbers in the tables."""
    basis = packing.basis_in(result)
    return [
        [table.number(entry) for entry in basis[part]] for part, table in zip(_BASIS, tables, strict=True)
    ]


def _changed(old: dict[str, str], new: dict[str, str]) -> set[str]:
    """Files that were added, removed or have other content."""
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def _settings(config: Config, project: Project) -> str:
    settings = repr((config.select, config.ignore, config.captured, config.guards, project.display(".")))
    return hashlib.blake2b(settings.encode(), digest_size=8).hexdigest()
