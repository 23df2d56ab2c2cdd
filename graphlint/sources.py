"""The text of the files of a run, loaded when a report first needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from graphlint.facts.source import Unreadable, decode

# Python ends a line at these only; str.splitlines() would also cut at form feeds and Unicode separators.
_NEWLINE = re.compile(r"\r\n|\r|\n")


class Sources:
    """The files of a run by the path they are shown under; a file that cannot be read has no text.

    What is `given` for a path stands in for what is on the disk.
    """

    def __init__(self, files: Mapping[str, Path], given: Mapping[str, bytes] = MappingProxyType({})) -> None:
        self._files = files
        self._given = given
        self._lines: dict[str, list[str]] = {}

    def data(self, path: str) -> bytes:
        """Return the bytes of a file; none when it cannot be read."""
        if path in self._given:
            return self._given[path]
        file = self._files.get(path)
        try:
            return file.read_bytes() if file is not None else b""
        except OSError:
            return b""

    def text(self, path: str) -> str:
        """Return the decoded text of a file without its byte order mark; none when it cannot be decoded."""
        try:
            return decode(self.data(path), Path(path))
        except Unreadable:
            return ""

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file without their ends; they are kept for the next caller."""
        if path not in self._lines:
            text = self.text(path)
            self._lines[path] = _NEWLINE.split(text) if text else []
        return self._lines[path]
