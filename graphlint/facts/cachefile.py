"""One cache file: a header line, a checksum, and zlib-packed JSON; replaced as a whole.

A different header, a wrong checksum or anything unexpected means an empty cache, never an error. Writers
put a whole new file in place, so concurrent runs read the old or the new one. No pickle anywhere.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
import zlib
from pathlib import Path
from typing import Any

import graphlint
from graphlint import __version__
from graphlint.replacing import replace

CHECKSUM_SIZE = 16
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is graphlint's cache; it may be deleted.\n"


def header(what: str, format_: int, settings: str = "") -> bytes:
    """A first line that differs wherever what is kept must not be used, as by another graphlint or Python."""
    python = ".".join(map(str, sys.version_info[:2]))
    return f"graphlint {what} {format_} {__version__} {_code()} {python} {settings}\n".encode()


@functools.cache
def _code() -> str:
    """All files of graphlint, rules, tables and profiles included, by name, size and time."""
    hasher = hashlib.blake2b(digest_size=8)
    pending = [os.path.dirname(graphlint.__file__)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir():
                    pending += [entry.path] if entry.name != "__pycache__" else []
                else:
                    status = entry.stat()
                    hasher.update(f"{entry.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return hasher.hexdigest()


def load(path: Path, under: bytes) -> dict[str, Any] | None:
    """The content of a cache file written under this very header; None when there is none."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(under) + CHECKSUM_SIZE
    payload = data[start:]
    if data[:start] != under + _checksum(payload):
        return None
    # Behind a matching checksum stands what `save` wrote under this very header.
    content: dict[str, Any] = json.loads(zlib.decompress(payload))
    return content


def save(path: Path, under: bytes, content: dict[str, Any]) -> None:
    """Write a cache file; a folder that cannot be written is no error."""
    payload = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 1)
    with contextlib.suppress(OSError):
        _prepare(path.parent)
        replace(path, under + _checksum(payload) + payload)


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=CHECKSUM_SIZE).digest()


def _prepare(folder: Path) -> None:
    """Make the folder, marked as a cache for backup programs and ignored by git."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("CACHEDIR.TAG", TAG), (".gitignore", "*\n")):
        if not (folder / name).exists():
            replace(folder / name, text.encode())
