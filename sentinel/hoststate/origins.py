"""Which code is the program's own, and not Python's, torch's, an installed library's or the sentinel's."""

from __future__ import annotations

import sysconfig
from functools import lru_cache
from pathlib import Path
from types import CodeType

_OURS = str(Path(__file__).resolve().parent.parent)
_LIBRARIES = tuple(
    {str(Path(path).resolve()) for key, path in sysconfig.get_paths().items() if key in ("stdlib", "purelib")}
)


@lru_cache(maxsize=4096)
def is_program_file(name: str) -> bool:
    """Whether a file holds code of the program."""
    if name.startswith("<") or "site-packages" in name or "dist-packages" in name:
        return False
    path = str(Path(name).resolve())
    return not path.startswith((_OURS, *_LIBRARIES))


def is_program_code(code: CodeType) -> bool:
    """Whether a code object is of the program."""
    return is_program_file(code.co_filename)
