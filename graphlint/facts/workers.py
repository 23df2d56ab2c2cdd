"""Worker processes that scan files: paths as JSON on standard input, scans as JSON on standard output.

A plain subprocess rather than `multiprocessing`: it never imports the caller's `__main__`, never forks
a process that has threads, and starts in the time of a bare interpreter.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from graphlint.facts.inventory import Scanned, scan_file
from graphlint.facts.scan import FileScan

_ROOT = str(Path(__file__).resolve().parents[2])
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    "from graphlint.facts.workers import serve; serve(sys.stdin.buffer, sys.stdout.buffer)"
)


def scan_with_workers(paths: list[str], sizes: list[int], jobs: int) -> list[tuple[str, Scanned]]:
    """Scan files in `jobs` processes, this one among them; what a worker fails to do is done here."""
    shares = _shares(paths, sizes, jobs)
    workers = [(share, _start(share)) for share in shares[1:]]
    done = [(path, scan_file(path)) for path in shares[0]]
    for share, worker in workers:
        results = _collect(worker, len(share))
        done += zip(share, results, strict=True) if results else [(path, scan_file(path)) for path in share]
    return done


def _shares(paths: list[str], sizes: list[int], jobs: int) -> list[list[str]]:
    """Near-equal shares of the bytes: the largest files are dealt out first, in turn."""
    by_size = [path for _, path in sorted(zip(sizes, paths, strict=True), reverse=True)]
    return [share for share in (by_size[start::jobs] for start in range(jobs)) if share]


def _start(share: list[str]) -> subprocess.Popen[bytes] | None:
    try:
        # -S and -E: no site packages are needed, and what they run at start is not ours to wait for.
        worker = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _PROGRAM, _ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, TypeError):  # no interpreter to start: an embedded one does not know its path
        return None
    # A worker that died at once is noticed where its output is missing.
    if worker.stdin is not None:
        with contextlib.suppress(OSError), worker.stdin as pipe:
            pipe.write(json.dumps(share).encode())
    return worker


def _collect(worker: subprocess.Popen[bytes] | None, count: int) -> list[Scanned] | None:
    if worker is None or worker.stdout is None:
        return None
    with worker:
        output = worker.stdout.read()
    try:
        rows = json.loads(output)
    except ValueError:
        return None
    return [_unpack(row) for row in rows] if len(rows) == count else None


def serve(source: Any, sink: Any) -> None:
    """The worker's side: scan the paths that `source` lists and write the scans to `sink`."""
    paths: list[str] = json.loads(source.read())
    sink.write(json.dumps([_pack(scan_file(path)) for path in paths]).encode())
    sink.flush()


def _pack(scanned: Scanned) -> list[Any]:
    names = scanned.scan
    return [scanned.reason, scanned.digest.hex(), *map(sorted, (names.marks, names.defines, names.writes))]


def _unpack(row: list[Any]) -> Scanned:
    reason, digest, marks, defines, writes = row
    return Scanned(
        FileScan(frozenset(marks), frozenset(defines), frozenset(writes)), bytes.fromhex(digest), reason
    )
