"""A file is put in place as a whole: a reader, or a run that is stopped, sees the old one or the new one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Give the file these bytes, keeping its permissions; a link stays a link. Raises OSError."""
    if path.exists() and not path.is_file():  # a pipe or a device has nothing to keep
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _permissions(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _permissions(path: Path) -> int:
    """Those of the file that is there, or what any new file gets."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
