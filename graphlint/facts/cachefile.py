"""One cache file: a header line, a checksum, and zlib-packed JSON; replaced as a whole.

A different header, a wrong checksum or anything unexpected means an empty cache, never an error. Writers
put a whole new file in place, so concurrent runs read the old or the new one. No pickle anywhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

CHECKSUM_SIZE = 16
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is graphlint's cache; it may be deleted.\n"


def load(path: Path, header: bytes) -> dict[str, Any] | None:
    """The content of a cache file written under this very header; None when there is none."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(header) + CHECKSUM_SIZE
    payload = data[start:]
    if data[:start] != header + _checksum(payload):
        return None
    # Behind a matching checksum stands what `save` wrote under this very header.
    content: dict[str, Any] = json.loads(zlib.decompress(payload))
    return content


def save(path: Path, header: bytes, content: dict[str, Any]) -> None:
    """Write a cache file; a folder that cannot be written is no error."""
    payload = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 1)
    with contextlib.suppress(OSError):
        _prepare(path.parent)
        _replace(path, header + _checksum(payload) + payload)


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=CHECKSUM_SIZE).digest()


def _prepare(folder: Path) -> None:
    """Make the folder, marked as a cache for backup programs and ignored by git."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("CACHEDIR.TAG", TAG), (".gitignore", "*\n")):
        if not (folder / name).exists():
            _replace(folder / name, text.encode())


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
