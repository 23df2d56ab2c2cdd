"""The facts cache: scans by content hash, in one file per project.

The file is `facts.bin` in the cache folder. Its first line names the format, graphlint's version and a
hash of the scanner's source; 16 bytes of checksum follow, then zlib-packed JSON:

    {"generation": n,
     "names":  [every name once],
     "scans":  {hash: [generation it was last used in, marks, defines, writes]},   # numbers of names
     "status": {path: [mtime_ns, ctime_ns, size, hash]}}

A different first line, a wrong checksum or anything unexpected means an empty cache, never an error.
Writers put a whole new file in place (`os.replace`), so concurrent runs read the old or the new one;
the last writer wins, and what the other one knew is scanned again some day.

The key is the content. `status` only saves reading files whose times and size are as they were, and
leaves out files so young that a later change could hide behind the clock's resolution.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphlint import __version__
from graphlint.facts import cachefile
from graphlint.facts import scan as scanner
from graphlint.facts.inventory import Scanned
from graphlint.facts.scan import FileScan

FILE_NAME = "facts.bin"
_FORMAT = 1
_KEPT_GENERATIONS = 5
_RENUMBERED_AFTER = 20  # generations, after which the names of dropped scans are dropped
_RACY_NS = 2_000_000_000


class FactsCache:
    """Scans kept between runs in a folder; every failure to read or write it is silent.

    Call `save` at the end of a run. Nothing is written when the run learned nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = time.time_ns()
        content = _load(folder / FILE_NAME)
        self._generation: int = content["generation"] + 1
        self._names: list[str] = content["names"]
        self._rows: dict[str, list[Any]] = content["scans"]
        self._status: dict[str, list[Any]] = content["status"]
        self._scans: dict[str, FileScan] = {}
        self._used: set[str] = set()
        self._learned = False

    def by_status(self, path: str, status: os.stat_result) -> Scanned | None:
        """The scan of a file whose times and size are those of its last scan."""
        known = self._status.get(path)
        if known is None or known[:3] != _times_and_size(status):
            return None
        digest = bytes.fromhex(known[3])
        scan = self.by_digest(digest)
        return Scanned(scan, digest) if scan is not None else None

    def by_digest(self, digest: bytes) -> FileScan | None:
        """The scan of this content."""
        key = digest.hex()
        if key not in self._scans:
            if key not in self._rows:
                return None
            self._scans[key] = FileScan(*map(self._named, self._rows[key][1:]))
        self._used.add(key)
        return self._scans[key]

    def _named(self, numbers: Iterable[int]) -> frozenset[str]:
        return frozenset([self._names[number] for number in numbers])

    def put(self, path: str, status: os.stat_result, scanned: Scanned) -> None:
        """Keep a scan, and the status that the file had before it was read."""
        key = scanned.digest.hex()
        self._scans[key] = scanned.scan
        self._used.add(key)
        self._learned = True
        if max(status.st_mtime_ns, status.st_ctime_ns) < self._started - _RACY_NS:
            self._status[path] = [*_times_and_size(status), key]
        else:
            self._status.pop(path, None)

    def save(self) -> None:
        """Write the cache, less the scans that no run has used for some generations."""
        if not self._learned:
            return
        cachefile.save(self._folder / FILE_NAME, _header(), self._content())
        self._learned = False

    def _content(self) -> dict[str, Any]:
        scans: dict[str, list[Any]] = {}
        for key in sorted({*self._rows, *self._scans}):
            generation = self._generation if key in self._used else self._rows[key][0]
            if generation > self._generation - _KEPT_GENERATIONS:
                scans[key] = [generation, *(self._rows[key][1:] if key in self._rows else ())]
        names = self._number_all(scans, anew=self._generation % _RENUMBERED_AFTER == 0)
        status = {path: row for path, row in sorted(self._status.items()) if row[3] in scans}
        return {"generation": self._generation, "names": names, "scans": scans, "status": status}

    def _number_all(self, scans: dict[str, list[Any]], *, anew: bool) -> list[str]:
        """Fill in the numbers of new scans; `anew` those of all scans, so that names of dropped ones go."""
        numbers = {} if anew else {name: number for number, name in enumerate(self._names)}
        for key, row in scans.items():
            if anew or len(row) == 1:
                scan = self._scans.get(key) or FileScan(*map(self._named, row[1:]))
                row[1:] = [
                    [numbers.setdefault(name, len(numbers)) for name in sorted(names)]
                    for names in (scan.marks, scan.defines, scan.writes)
                ]
        return list(numbers)


def _times_and_size(status: os.stat_result) -> list[int]:
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_size]


def _header() -> bytes:
    try:
        source = Path(scanner.__file__).read_bytes()
    except OSError:  # installed as a zip file: the version alone must do
        source = b""
    scanner_hash = hashlib.blake2b(source, digest_size=8).hexdigest()
    return f"graphlint facts {_FORMAT} {__version__} {scanner_hash}\n".encode()


def _load(path: Path) -> dict[str, Any]:
    empty: dict[str, Any] = {"generation": 0, "names": [], "scans": {}, "status": {}}
    return cachefile.load(path, _header()) or empty


def clean(folder: Path) -> bool:
    """Remove a cache folder; False when there is none. A folder that is not a cache of ours is left alone."""
    try:
        ours = (folder / "CACHEDIR.TAG").read_text() == cachefile.TAG and not folder.is_symlink()
    except (OSError, ValueError):
        return False
    if ours:
        shutil.rmtree(folder, ignore_errors=True)
    return ours
