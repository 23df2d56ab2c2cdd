"""The scans of a set of files: from the cache, in this process, or by worker processes for big trees."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphlint.facts.scan import NOTHING, FileScan, scan
from graphlint.facts.source import Unreadable

if TYPE_CHECKING:
    from graphlint.facts.cache import FactsCache

NO_FILES: Mapping[str, bytes] = MappingProxyType({})
LARGEST_FILE = 20_000_000
_BYTES_PER_JOB = 8_000_000  # below this much for each, a worker's start costs more than it saves


@dataclass(frozen=True, slots=True)
class Scanned:
    """The scan of one file; `reason` says why there is none, and is empty when there is one."""

    scan: FileScan
    digest: bytes = b""
    reason: str = ""


def read(path: str) -> bytes:
    """The bytes of a file; `Unreadable` when it is missing, forbidden, no regular file or too large."""
    try:
        size = _regular_size(os.stat(path), path)
        if size > LARGEST_FILE:
            raise Unreadable(Path(path), f"too large: {size / 1e6:.0f} MB")
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise Unreadable(Path(path), f"cannot be read: {_reason(error)}") from None


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        # A link to nowhere says "No such file or directory" of a file that is plainly listed.
        if error.errno == errno.ENOENT and error.filename and os.path.islink(error.filename):
            return "broken symbolic link"
        return error.strerror or type(error).__name__
    return str(error)


def _regular_size(status: os.stat_result, path: str) -> int:
    if not stat.S_ISREG(status.st_mode):  # reading a pipe or a terminal would wait for ever
        raise Unreadable(Path(path), "cannot be read: not a regular file")
    return status.st_size


def digest_of(data: bytes) -> bytes:
    """The content hash under which facts are cached."""
    return hashlib.blake2b(data, digest_size=16).digest()


def take(
    paths: Sequence[str],
    cache: FactsCache | None = None,
    jobs: int | None = None,
    given: Mapping[str, bytes] = NO_FILES,
) -> dict[str, Scanned]:
    """The scan of every path, in the order given; the same for any number of jobs.

    Without `jobs` the number is chosen by how many bytes the cache leaves to be scanned. What is `given` for
    a path stands in for what is on the disk, and is not cached.
    """
    done: dict[str, Scanned] = dict.fromkeys(paths, _PENDING)
    statuses: dict[str, os.stat_result] = {}
    for path in paths:
        if path in given:
            done[path] = Scanned(scan(given[path]), digest_of(given[path]))
            continue
        try:
            statuses[path] = os.stat(path)
        except (OSError, ValueError) as error:
            done[path] = Scanned(NOTHING, reason=f"cannot be read: {_reason(error)}")
            continue
        hit = cache.by_status(path, statuses[path]) if cache else None
        if hit is not None:
            done[path] = hit
    pending = [path for path in statuses if done[path] is _PENDING]
    sizes = [statuses[path].st_size for path in pending]
    for path, scanned in _scan_all(pending, sizes, cache, jobs):
        done[path] = scanned
        if cache and not scanned.reason:
            cache.put(path, statuses[path], scanned)
    return done


_PENDING = Scanned(NOTHING, reason="not scanned")


def _scan_all(
    paths: list[str], sizes: list[int], cache: FactsCache | None, jobs: int | None
) -> Iterable[tuple[str, Scanned]]:
    count = default_jobs(sum(sizes)) if jobs is None else max(1, jobs)
    if count == 1 or len(paths) < 2:
        return [(path, scan_file(path, cache)) for path in paths]
    from graphlint.facts.workers import scan_with_workers  # most runs need no subprocess module

    return scan_with_workers(paths, sizes, count)


def scan_file(path: str, cache: FactsCache | None = None) -> Scanned:
    """Read and scan one file, unless the cache knows its content."""
    try:
        data = read(path)
    except Unreadable as error:
        return Scanned(NOTHING, reason=error.reason)
    digest = digest_of(data)
    known = cache.by_digest(digest) if cache else None
    return Scanned(known or scan(data), digest)


def default_jobs(size: int) -> int:
    """How many processes pay for scanning `size` bytes."""
    return max(1, min(processors(), size // _BYTES_PER_JOB))


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1
