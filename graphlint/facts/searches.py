"""Searches: which files hold a name, write it or call it; nothing is parsed for that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from graphlint.facts.inventory import Scanned
from graphlint.facts.mentions import Mentions, calls, derives, fills, imports_package, quotes
from graphlint.facts.trace import Search

_OF_TEXT = {
    "calls": calls,
    "derives": derives,
    "fills": fills,
    "imports": imports_package,
    "quotes": quotes,
}


class Searches:
    """Searches through the files of a project; `bytes_of` gives the text of one, empty where it has none.

    All answers are in the order of `paths`.
    """

    def __init__(
        self, paths: Sequence[str], scanned: Mapping[str, Scanned], bytes_of: Callable[[str], bytes]
    ) -> None:
        self._paths = paths
        self._scanned = scanned
        self._bytes_of = bytes_of
        self._position = {path: at for at, path in enumerate(paths)}
        self.made: dict[Search, tuple[str, ...]] = {}  # by this process, with the files that they found
        self._recalled: Mapping[Search, tuple[str, ...]] = {}
        self._changed: frozenset[str] = frozenset()
        self._single: dict[str, Mentions] = {}
        self._answers: dict[tuple[Search, str], bool] = {}

    def find(self, kind: str, name: str) -> tuple[str, ...]:
        """The files that a search finds."""
        search = (kind, name)
        if search not in self.made:
            recalled = search in self._recalled
            self.made[search] = self._recall(search) if recalled else self._look(kind, name)
        return self.made[search]

    def in_order(self, paths: Iterable[str]) -> list[str]:
        """Files in the order of the project."""
        return sorted(paths, key=self._position.__getitem__)

    def recall(self, searches: Mapping[Search, tuple[str, ...]], changed: frozenset[str]) -> None:
        """Answer searches as an earlier run did: its answers hold but for the `changed` files."""
        self._recalled, self._changed = searches, changed

    def prepare(self) -> None:
        """Get ready for very many searches, before this process is forked into several that make them."""
        self._mentions.build_index()

    def place(self, path: str) -> tuple[bytearray, int] | None:
        """Where the bytes of a file are held for searches; None when they are not, or not yet."""
        return self._mentions.place(self._position[path]) if "_mentions" in self.__dict__ else None

    def still_finds(self, search: Search, path: str) -> bool:
        """Whether a search finds one file, answered from that file alone."""
        if (search, path) not in self._answers:
            self._answers[search, path] = self._finds(search, path)
        return self._answers[search, path]

    def _finds(self, search: Search, path: str) -> bool:
        kind, name = search
        if kind == "writes":
            return name in self._scanned[path].scan.writes
        if path not in self._single:
            self._single[path] = Mentions([self._bytes_of(path)])
            self._single[path].build_index()
        one = self._single[path]
        return bool(one.of(name)) and (kind not in _OF_TEXT or _OF_TEXT[kind](one.content(0), name))

    def _look(self, kind: str, name: str) -> tuple[str, ...]:
        if kind == "mentions":
            return tuple(self._paths[at] for at in self._mentions.of(name))
        if kind in _OF_TEXT:
            holds, mentions = _OF_TEXT[kind], self._mentions
            return tuple(self._paths[at] for at in mentions.of(name) if holds(mentions.content(at), name))
        return tuple(path for path in self._paths if name in self._scanned[path].scan.writes)

    def _recall(self, search: Search) -> tuple[str, ...]:
        kept = {path for path in self._recalled[search] if path not in self._changed}
        new = {path for path in self._changed if path in self._position and self.still_finds(search, path)}
        return tuple(self.in_order(kept | new))

    @cached_property
    def _mentions(self) -> Mentions:
        return Mentions(map(self._bytes_of, self._paths))
