"""Which files mention an identifier: a search over raw bytes, which finds callers without parsing."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

_SEPARATOR = b"\n"
_NUMBER = "I"
# After this many searches through all bytes, an index of all words has paid for itself.
_SEARCHES_BEFORE_INDEX = 32
_BASES = re.compile(rb"class[ \t]+\w+[^\S\n]*(?:\[[^\]\n]{0,200}\])?[^\S\n]*\(([^:]{0,2000})")
_LONGEST_PATH = 400
_PATH_START = re.compile(rb"@?(?:\w+\.)*")
_WORD_BYTES = bytes(c if c >= 128 or chr(c).isalnum() or c == ord("_") else ord(" ") for c in range(256))


def _holds(data: bytes, word: bytes, before: bytes, after: bytes) -> bool:
    """Whether a word stands somewhere between two expressions, of which the first has no width.

    A search for such an expression would try it at every byte.
    """
    at = data.find(word)
    if at < 0:
        return False
    whole = re.compile(before + re.escape(word) + after)
    while at >= 0 and not whole.match(data, at):
        at = data.find(word, at + 1)
    return at >= 0


def derives(data: bytes, name: str) -> bool:
    """Whether a file may have a class with the base `name`, or imports it under another name."""
    word = name.encode("utf-8", "surrogatepass")
    if _holds(data, word, rb"\b", rb"[ \t]+as[ \t]"):
        return True
    whole = re.compile(rb"\b%b\b" % re.escape(word))
    return any(whole.search(bases) for bases in _BASES.findall(data))


def fills(data: bytes, name: str) -> bool:
    """Whether a statement or decorator at the start of a line starts at `name`, as in `@m.name(...)`."""
    # From each mention back to the start of its line: an expression for whole lines is tried at every line.
    for match in re.finditer(rb"%s[ \t]*[.\[(]" % re.escape(name.encode("utf-8", "surrogatepass")), data):
        at = match.start()
        line = data.rfind(b"\n", max(0, at - _LONGEST_PATH), at) + 1
        if (line or at < _LONGEST_PATH) and _PATH_START.fullmatch(data, line, at):
            return True
    return False


def calls(data: bytes, name: str) -> bool:
    """Whether a text calls something of this name, be it a method."""
    return _holds(data, name.encode("utf-8", "surrogatepass"), rb"(?<!def )(?<!class )\b", rb"\(")


def quotes(data: bytes, name: str) -> bool:
    """Whether a text starts with a name, perhaps behind `namespace::`, or a function is called so."""
    word = re.escape(name.encode("utf-8", "surrogatepass"))
    return re.search(rb"[\"'](?:\s|\\\n)*(?:\w+::)?%b\b|\bdef[ \t]+%b\b" % (word, word), data) is not None


def imports_package(data: bytes, package: str) -> bool:
    """Whether a text imports a package, wherever it stands."""
    name = package.encode("utf-8", "surrogatepass")
    if name not in data:  # a plain search costs a hundredth of the expression
        return False
    word = re.escape(name)
    return (
        re.search(rb"^[ \t]*(?:from|import)[ \t]+(?:[\w.]+,[ \t]*)*%b\b" % word, data, re.MULTILINE)
        is not None
    )


class Mentions:
    """Finds whole words in many files; answers are positions in the list of files, ascending."""

    def __init__(self, contents: Iterable[bytes]) -> None:
        self._text = bytearray()  # grows in place: parts that are joined at the end are held twice
        self._starts: list[int] = []
        self._ends: list[int] = []
        for part in contents:
            self._starts.append(len(self._text))
            self._text += part
            self._ends.append(len(self._text))
            self._text += _SEPARATOR
        self._known: dict[str, list[int]] = {}
        self._index: dict[bytes, bytes] | None = None  # numbers of files, packed

    def of(self, name: str) -> list[int]:
        """The files that hold `name` as a word of its own, in code, comments or strings alike."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._look_up(name.encode("utf-8", "surrogatepass"))
        return known

    def _look_up(self, word: bytes) -> list[int]:
        if not word:
            return []
        if self._index is None and len(self._known) >= _SEARCHES_BEFORE_INDEX:
            self.build_index()
        if self._index is not None:
            return array(_NUMBER, self._index.get(word, b"")).tolist()
        return self._search(word)

    def _search(self, word: bytes) -> list[int]:
        text, found = self._text, []
        at = text.find(word)
        while at >= 0:
            if _is_whole(text, at, at + len(word)):
                file = bisect_right(self._starts, at) - 1
                found.append(file)
                # One hit is enough: go on with the next file.
                at = self._starts[file + 1] - 1 if file + 1 < len(self._starts) else len(text)
            at = text.find(word, at + 1)
        return found

    def place(self, file: int) -> tuple[bytearray, int]:
        """Where the bytes of a file stand: in which text, and where in it they begin."""
        return self._text, self._starts[file]

    def content(self, file: int) -> bytes:
        """The bytes of a file, by its position."""
        return bytes(memoryview(self._text)[self._starts[file] : self._ends[file]])

    def build_index(self) -> None:
        """Build the index now: for a process that is to be forked, so that it is built once."""
        if self._index is None:
            self._index = self._indexed()

    def _indexed(self) -> dict[bytes, bytes]:
        index: defaultdict[bytes, list[int]] = defaultdict(list)
        for file in range(len(self._starts)):
            for word in set(self.content(file).translate(_WORD_BYTES).split()):
                index[word].append(file)
        return {word: array(_NUMBER, index.pop(word)).tobytes() for word in list(index)}


def _is_whole(text: bytes | bytearray, start: int, end: int) -> bool:
    before, after = text[start - 1 : start] if start else b"", text[end : end + 1]
    return not (before + after).translate(_WORD_BYTES).strip()
