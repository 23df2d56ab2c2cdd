"""Which Python files a run is about: those named, and those found below the folders that are named.

What is found does not depend on the order of the paths or of the folder entries. Every file appears once,
under its real path, however many links lead to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from graphlint.ignorefiles import IgnoreList, ignore_list, is_ignored, read_gitignore
from graphlint.problem import Problem

# Skipped below a folder that is named, never when named itself.
DEFAULT_EXCLUDES = frozenset(
    {
        ".bzr",
        ".cache",
        ".eggs",
        ".git",
        ".graphlint_cache",
        ".hg",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "__pypackages__",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    }
)

# Emacs marks a file that is being edited by a link to nowhere of this name.
_EDITOR_LOCK = ".#"


@dataclass(frozen=True, slots=True, order=True)
class FoundFile:
    """A file to read: how it is shown to the user, its real path, whether the user named it.

    `given` is a text that stands in for what is on the disk, where there may be nothing.
    """

    shown: str
    path: Path
    named: bool
    given: bytes | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Discovered:
    """The files of a run in the order of their shown paths, and what could not be looked at."""

    files: tuple[FoundFile, ...]
    problems: tuple[Problem, ...]


def discover(
    paths: Sequence[str | Path] = (".",), *, exclude: Iterable[str] = (), root: Path | None = None
) -> Discovered:
    """Return the Python files that `paths` name and contain.

    A named file is always taken. Below a named folder, .gitignore files (nested ones too, and those of the
    folders above up to the repository's top), the default excludes and `exclude` (patterns as in .gitignore,
    relative to `root`) leave files out. Links to folders are followed inside `root`. What cannot be looked at
    becomes a problem, and the rest is still found.
    """
    walk = _Walk(os.getcwd(), os.path.realpath(root or os.getcwd()), tuple(exclude))
    for path in sorted({os.path.abspath(path) for path in paths}):
        walk.start(path)
    walk.finish()
    files = (
        FoundFile(shown_path(path, walk.cwd), Path(path), named=path in walk.named)
        for path in walk.named | walk.found
    )
    return Discovered(tuple(sorted(files)), tuple(sorted(walk.problems)))


def given_file(path: Path, text: bytes) -> FoundFile:
    """Return a file as the user gives it: its text, and where it stands or would stand."""
    real = os.path.realpath(path)
    return FoundFile(shown_path(real, os.getcwd()), Path(real), named=True, given=text)


def shown_path(path: str, cwd: str) -> str:
    """Return a real path as shown to the user: relative when below `cwd`, with forward slashes."""
    prefix = cwd if cwd.endswith(os.sep) else cwd + os.sep
    shown = path[len(prefix) :] if path.startswith(prefix) else path
    return shown.replace(os.sep, "/")


@dataclass
class _Walk:
    cwd: str
    root: str
    exclude: tuple[str, ...]
    named: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _folders: list[tuple[str, tuple[IgnoreList, ...]]] = field(default_factory=list)
    _links: list[tuple[str, tuple[IgnoreList, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._excluded = ignore_list(self.root, self.exclude)

    def start(self, path: str) -> None:
        real = os.path.realpath(path)
        if os.path.isdir(real):
            self._walk(real, _lists_above(real))
        elif os.path.isfile(real):
            self.named.add(real)
        else:
            self._problem(path, "is not a file or folder" if os.path.exists(real) else _why_missing(path))

    def finish(self) -> None:
        """Follow the links to folders: after everything else, so that they never decide how a file is met."""
        while self._links:
            links, self._links = sorted(self._links, key=lambda link: link[0]), []
            for path, lists in links:
                real = os.path.realpath(path)
                if self._leads_to_new_files(path, real):
                    self._walk(real, lists)

    def _leads_to_new_files(self, link: str, real: str) -> bool:
        is_loop = os.path.realpath(os.path.dirname(link)).startswith(os.path.join(real, ""))
        return not is_loop and real.startswith(os.path.join(self.root, ""))

    def _walk(self, folder: str, lists: tuple[IgnoreList, ...]) -> None:
        self._folders.append((folder, lists))
        while self._folders:
            self._folder(*self._folders.pop())

    def _folder(self, folder: str, lists: tuple[IgnoreList, ...]) -> None:
        if folder in self._seen:
            return
        self._seen.add(folder)
        try:
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._problem(folder, f"cannot be listed: {error.strerror or error}")
            return
        own = read_gitignore(folder) if any(entry.name == ".gitignore" for entry in ordered) else None
        for entry in ordered:
            self._entry(entry, (*lists, own) if own is not None else lists)

    def _entry(self, entry: os.DirEntry[str], lists: tuple[IgnoreList, ...]) -> None:
        try:
            is_folder, is_link = entry.is_dir(), entry.is_symlink()
        except OSError as error:
            self._problem(entry.path, f"cannot be looked at: {error.strerror or error}")
            return
        if not is_folder and not entry.name.endswith(".py"):
            return
        if self._is_left_out(entry, lists, is_folder):
            return
        if not is_folder:
            self._file(entry, is_link)
        elif is_link:
            self._links.append((entry.path, lists))
        else:
            self._folders.append((entry.path, lists))

    def _is_left_out(self, entry: os.DirEntry[str], lists: tuple[IgnoreList, ...], is_folder: bool) -> bool:
        if is_folder and entry.name in DEFAULT_EXCLUDES:
            return True
        if is_ignored(entry.path, lists, is_folder=is_folder):
            return True
        return is_ignored(entry.path, (self._excluded,), is_folder=is_folder)

    def _file(self, entry: os.DirEntry[str], is_link: bool) -> None:
        if not is_link:
            if entry.is_file():
                self.found.add(entry.path)
            return
        real = os.path.realpath(entry.path)
        if os.path.isfile(real):
            self.found.add(real)
        elif not os.path.exists(real) and not entry.name.startswith(_EDITOR_LOCK):
            self._problem(entry.path, "is a link that leads nowhere")

    def _problem(self, path: str, reason: str) -> None:
        self.problems.append(Problem(shown_path(path, self.cwd), reason))


def _why_missing(path: str) -> str:
    try:
        return "is a link that leads nowhere" if stat.S_ISLNK(os.lstat(path).st_mode) else "does not exist"
    except PermissionError as error:
        return f"cannot be looked at: {error.strerror}"
    except (OSError, ValueError):
        return "does not exist"


def _lists_above(folder: str) -> tuple[IgnoreList, ...]:
    """Return the ignore lists above a named folder, but for those that ignore the folder itself."""
    above: list[IgnoreList] = []
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return ()
        ignore = read_gitignore(parent)
        if ignore is not None and not ignore.verdict(folder, is_folder=True):
            above.append(ignore)
        current = parent
    return tuple(reversed(above))
