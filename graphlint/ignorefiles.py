"""Patterns in the manner of .gitignore, and which of several such lists has the last word on a path."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class IgnoreList:
    """The patterns that hold below the folder `base` (an absolute real path)."""

    base: str
    spec: GitIgnoreSpec

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return True for ignored, False for expressly kept, None when no pattern speaks of the path."""
        prefix = self.base if self.base.endswith(os.sep) else self.base + os.sep
        if not path.startswith(prefix):
            return None
        relative = path[len(prefix) :].replace(os.sep, "/")
        return self.spec.check_file(f"{relative}/" if is_folder else relative).include


def ignore_list(base: str, lines: Iterable[str]) -> IgnoreList:
    """Return the list that the lines state; a line that is no pattern is left out, as git does."""
    return IgnoreList(base, GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)]))


def read_gitignore(folder: str) -> IgnoreList | None:
    """Return the list in a folder's own .gitignore, or None when it has none that can be read."""
    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8-sig", errors="replace") as file:
            return ignore_list(folder, file.read().split("\n"))
    except OSError:
        return None


def is_ignored(path: str, lists: Iterable[IgnoreList], *, is_folder: bool) -> bool:
    """Return whether a path is ignored; of the lists, outermost first, the innermost that speaks decides."""
    for ignore in reversed(tuple(lists)):
        verdict = ignore.verdict(path, is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
