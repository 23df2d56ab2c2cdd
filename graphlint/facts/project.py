"""All files of a run: what each one gives away, and the modules among them, parsed when demanded."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphlint.facts import bodies, inventory
from graphlint.facts import nodes as ast
from graphlint.facts.cache import FactsCache
from graphlint.facts.looking import Looks
from graphlint.facts.modules import READABLE, ModuleFile
from graphlint.facts.naming import ModuleIndex
from graphlint.facts.outline import Outline
from graphlint.facts.questions import ANSWER
from graphlint.facts.scan import NOTHING, FileScan
from graphlint.facts.searches import Searches
from graphlint.facts.source import Unreadable, parse
from graphlint.facts.trace import Trace


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that had to be read as program and could not be; `display` is its path as shown to users."""

    path: Path
    display: str
    reason: str
    line: int = 1
    column: int = 1


class Project:
    """The files of one run.

    `named` are the files that the user named: they are parsed even when nothing marks or demands them,
    so that their problems are said. Every other file is scanned only, until something asks for it.
    `given` holds texts by absolute path that stand in for what is on the disk.
    All answers are in path order and do not depend on `jobs`, on the cache or on the order of `files`.
    """

    def __init__(
        self,
        files: Sequence[Path],
        *,
        cwd: Path | None = None,
        named: Collection[Path] = (),
        cache: FactsCache | None = None,
        jobs: int | None = None,
        given: Mapping[str, bytes] = inventory.NO_FILES,
    ) -> None:
        self._cwd = os.path.abspath(cwd or Path.cwd())
        listed = {self._absolute(path) for path in (*files, *named)}
        self._paths = sorted((path for path in listed if path.endswith(".py")), key=_path_order)
        self._named = sorted({self._absolute(path) for path in named}, key=_path_order)
        self._given = given
        self._scanned = inventory.take(self._paths, cache, jobs, given)
        self._index = ModuleIndex(self._paths)
        self._modules: dict[str, ModuleFile | None] = {}  # the one asked for longest ago first
        self._needed: frozenset[str] = frozenset()
        self._looked_into: set[str] = set()
        self._problems: dict[str, Problem] = {}
        self._looks = Looks()
        self._trace = Trace()
        self.trace_into(self._trace)
        self.searches = Searches(self._paths, self._scanned, self._bytes_or_nothing)
        self._outlines: dict[str, Outline | None] = {}
        self._when_parsed: Callable[[ModuleFile], None] | None = None

    def when_parsed(self, tell: Callable[[ModuleFile], None]) -> None:
        """Show every module to `tell`, now or before anybody else sees it."""
        self._when_parsed = tell
        for module in self._modules.values():
            if module is not None:
                self._show(module)

    def _show(self, module: ModuleFile) -> None:
        if self._when_parsed is not None:
            with self._looks.aside():  # what is said of it does not hang on who asked for it
                self._when_parsed(module)

    def _absolute(self, path: Path | str) -> str:
        return os.path.normpath(os.path.join(self._cwd, path))

    @cached_property
    def paths(self) -> list[Path]:
        """All files, in path order."""
        return [Path(path) for path in self._paths]

    @property
    def problems(self) -> list[Problem]:
        """The files read as program so far, and those the user named, that could not be; in path order."""
        self._parse_all(self._named)
        return [self._problems[path] for path in sorted(self._problems, key=_path_order)]

    def broken_unread(self, most_bytes: int) -> list[Problem]:
        """The files that nobody asked for and that are no Python either, in path order.

        Looking costs a parse of each, so a project with more than `most_bytes` in such files has no answer.
        """
        unread = [path for path in self._paths if path not in self._modules]
        if sum(map(_size, unread)) > most_bytes:
            return []
        before = set(self._problems)
        self._parse_all(unread)
        return [self._problems.pop(path) for path in unread if path in self._problems.keys() - before]

    def display(self, path: Path | str) -> str:
        """A path as shown to users: with forward slashes, relative to the working folder when below it."""
        whole = self._absolute(path)
        inside = self._cwd.rstrip(os.sep) + os.sep
        return whole.removeprefix(inside).replace(os.sep, "/")

    # --- one file ----------------------------------------------------------------------------------

    def scan_of(self, path: Path | str) -> FileScan:
        """What the bytes of a file of the project give away; empty for a file that cannot be read."""
        scanned = self._scanned.get(str(path)) or self._scanned.get(self._absolute(path))
        return scanned.scan if scanned else NOTHING

    def is_marked(self, path: Path) -> bool:
        """Whether the bytes of a file hold a mark."""
        self._looks.parts.add((str(path), _MARKED))
        return bool(self.scan_of(path).marks)

    def file(self, path: Path) -> ModuleFile | None:
        """The module of a file of the project, or None (and a problem) when it cannot be read."""
        return self._load(self._absolute(path))

    def holds(self, path: str) -> bool:
        """Whether a file is one of the project, be it readable or not."""
        return path in self._scanned

    def was_readable(self, path: str) -> bool:
        """Whether a file that was asked for could be read as program, also when it is forgotten by now."""
        return path in self._scanned and path not in self._problems

    def _load(self, path: str) -> ModuleFile | None:
        self._looks.parts.add((path, READABLE))
        if path in self._modules:
            module = self._modules.pop(path)  # and put in again, as the latest
        else:
            module = self._parse(path) if path in self._scanned else None
        self._modules[path] = module
        return module

    def keep_parsed(self) -> None:
        """Never forget the modules that are parsed by now: something was noted on their trees."""
        self._needed = frozenset(self._modules)

    def parsed_bytes(self) -> int:
        """How much text the syntax trees of all modules that may be forgotten hold."""
        return sum(module.held for module in self._forgettable())

    def forget(self, most: int) -> None:
        """Make text of all bodies again, and forget modules until trees hold at most `most` bytes of text.

        First those that only had to answer questions, then those asked for longest ago.
        """
        self._note_looks()
        forgettable = self._forgettable()
        for module in forgettable:
            bodies.put_back(module.source)
        size = self.parsed_bytes()
        for module in sorted(forgettable, key=lambda module: str(module.path) in self._looked_into):
            if size <= most:
                break
            size -= module.held
            del self._modules[str(module.path)]
            self._outlines.pop(str(module.path), None)
            module.let_go()
        self._looked_into.clear()

    def _note_looks(self) -> None:
        """Remember which files the last task looked into: to be asked a question is not that."""
        parts = self._trace.parts
        self._looked_into |= {
            path for path, part in parts if part != READABLE and not part.startswith(ANSWER)
        }

    def _forgettable(self) -> list[ModuleFile]:
        return [m for path, m in self._modules.items() if m is not None and path not in self._needed]

    def _parse(self, path: str) -> ModuleFile | None:
        try:
            source = parse(Path(path), self._read(path))
        except Unreadable as error:
            place = (error.line, error.column)
            self._problems[path] = Problem(Path(path), self.display(path), error.reason, *place)
            return None
        if (shared := self.searches.place(path)) is not None:
            source.keep_in(*shared)
        is_package = os.path.basename(path) == "__init__.py"
        name = self._index.name_of(path)
        module = ModuleFile(Path(path), self.display(path), name, is_package, source, self._looks)
        self._show(module)
        return module

    def _parse_all(self, paths: Iterable[str]) -> list[ModuleFile]:
        return [module for module in map(self._load, paths) if module is not None]

    # --- by name -----------------------------------------------------------------------------------

    def module(self, dotted: str, importer: ModuleFile | None = None) -> ModuleFile | None:
        """The module that a dotted name means to `importer`, or None when the project has none."""
        start = str(importer.path) if importer else ""
        path = self._index.find(dotted, start)
        self._trace.names[(dotted, start)] = path or ""
        return self._load(path) if path else None

    def may_give(self, dotted: str, importer: ModuleFile, name: str) -> bool:
        """Whether a star import from `dotted` can give `name`: a file there holds it; nothing is parsed."""
        start = str(importer.path)
        path = self._index.find(dotted, start)
        self._trace.names[(dotted, start)] = path or ""
        if not path:
            return True
        found = self._searched("mentions", name)
        folder = os.path.dirname(path) + os.sep
        if path in found:
            return True
        if os.path.basename(path) == "__init__.py":
            return any(each.startswith(folder) for each in found)
        self._looks.parts.add((path, _STARRED))
        return _has_star(self._bytes_or_nothing(path))

    def submodule(self, dotted: str, name: str, importer: ModuleFile | None = None) -> ModuleFile | None:
        """The module `name` inside the package `dotted`, as in `from dotted import name`."""
        return self.module(f"{dotted}.{name}" if dotted else name, importer)

    def resolve_import(self, module: ModuleFile, node: ast.ImportFrom) -> str:
        """The absolute dotted name after `from` in an import of `module`, leading dots resolved."""
        if not node.level:
            return node.module or ""
        start, dots = str(module.path), "." * node.level
        base = self._trace.names[(dots, start)] = self.resolves_to(dots, start)
        return f"{base}.{node.module}" if node.module else base

    # --- by content --------------------------------------------------------------------------------

    def marked(self) -> list[ModuleFile]:
        """The modules of all files that hold a mark."""
        return self._parse_all(self.marked_paths())

    def writing(self, field: str) -> list[ModuleFile]:
        """The modules of all files that assign an attribute of this name."""
        return self._parse_all(self._searched("writes", field))

    def mentioning(self, *names: str) -> Iterator[ModuleFile]:
        """The modules of all files that hold any of the names as a whole word, each parsed in its turn."""
        return (module for path in self._mention_paths(names) if (module := self._load(path)))

    def quoting(self, name: str) -> Iterator[ModuleFile]:
        """The modules with a text that starts with the name, or a function of that name; each in its turn."""
        return (module for path in self._searched("quotes", name) if (module := self._load(path)))

    def deriving(self, name: str) -> Iterator[ModuleFile]:
        """The modules with a class whose bases name this class, each parsed when its turn comes."""
        return (module for path in self._searched("derives", name) if (module := self._load(path)))

    def filling(self, *names: str, most: int) -> list[ModuleFile]:
        """The modules with a top-level statement or decorator that starts at one of the names.

        None at all when there are more than `most`.
        """
        found = {path for name in names for path in self._searched("fills", name)}
        return self._parse_all(self.searches.in_order(found)) if len(found) <= most else []

    def mention_paths(self, *names: str) -> list[Path]:
        """The files that hold any of the names as a whole word; nothing is parsed."""
        return [Path(path) for path in self._mention_paths(names)]

    def calling_paths(self, name: str) -> list[Path]:
        """The files that call something of this name, be it a method; nothing is parsed."""
        return [Path(path) for path in self._searched("calls", name)]

    def near(self, package: str, words: Iterable[str]) -> list[str]:
        """The files of a package and those that mention it, of these those that hold all the words."""
        speaking, folder = set(self._searched("mentions", package)), f"{os.sep}{package}{os.sep}"
        found = [path for path in self._paths if path in speaking or folder in path]
        for word in words:
            holding = set(self._searched("mentions", word))
            found = [path for path in found if path in holding]
        return found

    def _mention_paths(self, names: Iterable[str]) -> list[str]:
        return self.searches.in_order({path for name in names for path in self._searched("mentions", name)})

    def _searched(self, kind: str, name: str) -> tuple[str, ...]:
        found = self._trace.searches[kind, name] = self.searches.find(kind, name)
        return found

    def uses_package(self, package: str) -> bool:
        """Whether a package is part of the project, or any file imports it."""
        return bool(self._index.find(package, "") or self._searched("imports", package))

    # --- what has been asked ------------------------------------------------------------------------

    def trace_into(self, trace: Trace) -> None:
        """Record from now on in `trace` what is asked of the project."""
        self._note_looks()
        self._trace = trace
        self._looks.parts = trace.parts

    def digest_of(self, path: str, part: str, *, placed: bool = False) -> str:
        """The digest of a part of a file (`facts/outline.py`); empty where it is no program any more."""
        if part == _MARKED:  # files that cannot be read have none
            return str(bool(self._scanned[path].scan.marks)) if path in self._scanned else ""
        if part == _STARRED:
            return str(_has_star(self._bytes_or_nothing(path)))
        if path not in self._outlines:
            self._outlines[path] = self._outline(path)
        outline = self._outlines[path]
        return outline.digest(part, placed=placed) if outline is not None else ""

    def _outline(self, path: str) -> Outline | None:
        """The outline of a file; looking whether it is a program does not make one that is needed."""
        with self._looks.aside():
            was_asked = path in self._modules
            module = self._load(path)
        if module is None and not was_asked:
            del self._modules[path]
            self._problems.pop(path, None)
        return Outline(module) if module is not None else None

    def digests(self) -> dict[str, str]:
        """The content hash of every file that could be read, in path order."""
        return {path: self._scanned[path].digest.hex() for path in self._paths}

    def marked_paths(self) -> list[str]:
        """The files that hold a mark, in path order; nothing is parsed."""
        return [path for path in self._paths if self._scanned[path].scan.marks]

    def resolves_to(self, dotted: str, importer: str) -> str:
        """The path that a dotted name means to the file `importer`; empty when there is none.

        Of a name that is dots only, the package that they mean.
        """
        if dotted.startswith("."):
            return self._index.relative(importer, len(dotted))
        return self._index.find(dotted, importer) or ""

    def _read(self, path: str) -> bytes:
        return self._given[path] if path in self._given else inventory.read(path)

    def _bytes_or_nothing(self, path: str) -> bytes:
        try:
            return self._read(path)
        except Unreadable:
            return b""


# Parts of files that are no text: whether they hold a mark of a capture, or a star import.
_MARKED = "marked"
_STARRED = "starred"


def _has_star(data: bytes) -> bool:
    return b"import *" in data


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _path_order(path: str) -> list[str]:
    return path.split(os.sep)
