"""Source text for people: lines as Python counts them, loaded when a report first needs them."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from pathlib import Path

# Python ends a line at these only; str.splitlines() would also cut at form feeds and Unicode separators.
_NEWLINE = re.compile(r"\r\n|\r|\n")


def decode(data: bytes) -> str:
    """Return the text of a Python file, after its BOM or coding line.

    Raises SyntaxError for an encoding that does not exist, UnicodeDecodeError for bytes that are not in it.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their ends, cut where Python cuts them."""
    lines = _NEWLINE.split(text)
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


class Sources:
    """The files of a run by the path they are shown under; a file that cannot be read has no lines."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._lines: dict[str, list[str]] = {}

    def text(self, path: str) -> str | None:
        """Return the text of a file, or None when it cannot be read or decoded."""
        file = self._files.get(path)
        try:
            return decode(file.read_bytes()) if file is not None else None
        except (OSError, SyntaxError, UnicodeDecodeError):
            return None

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file; they are kept for the next caller."""
        if path not in self._lines:
            self._lines[path] = split_lines(self.text(path) or "")
        return self._lines[path]
