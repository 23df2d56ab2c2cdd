"""Which code is the program's own.

One meaning for lines and one for state, which are not the same question:

- A *line* of the program is any that is not Python's, torch's, the sentinel's or a test runner's. Installed
  packages count. Engines that capture and replay are installed as often as not; a finding without their
  frames would stand at the one line that started them, and `graphlint run -m package` would show none at all.
- *State* of the program, which the shadow walks, compares and sets back, is that of its own modules and
  classes only, not of what is installed. Packages keep caches, registries and counters that move with every
  call and mean nothing; setting them back could break what is not ours to judge. State of a package is still
  reached where an object of the program holds it.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import sysconfig
import threading
from functools import cache, lru_cache
from types import CodeType, ModuleType

import torch

import graphlint.sentinel

_INSTALLED = ("site-packages", "dist-packages")
_OURS = os.path.dirname(os.path.realpath(str(graphlint.sentinel.__file__))) + os.sep
_BELOW = (os.path.dirname(str(graphlint.sentinel.__file__)) + os.sep, _OURS)
_TORCH = os.path.dirname(str(torch.__file__)) + os.sep
_PYTHON = tuple({os.path.realpath(sysconfig.get_path(key)) + os.sep for key in ("stdlib", "platstdlib")})
_BETWEEN = {contextlib.__file__, runpy.__file__, threading.__file__}
RUNNERS = tuple(f"{os.sep}{name}{os.sep}" for name in ("_pytest", "pluggy", "multiprocessing"))


def is_program(code: CodeType) -> bool:
    """Whether lines of this code are the program's."""
    return _has_own_lines(code.co_filename)  # code of two files may be equal


@cache
def _has_own_lines(file: str) -> bool:
    return not (
        file.startswith((*_BELOW, "<frozen"))
        or _is_torchs(file)
        or file in _BETWEEN
        or any(runner in file for runner in RUNNERS)
        or _is_pythons(file)
    )


def is_of_torch(code: CodeType) -> bool:
    """Whether code is torch's."""
    return _is_torchs(code.co_filename)


@cache
def _is_torchs(file: str) -> bool:
    """Whether a file is torch's, or of its compiler, whose folder the environment names."""
    generated = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    return file.startswith(_TORCH) or (generated is not None and file.startswith(generated + os.sep))


@lru_cache(maxsize=4096)
def has_own_state(file: str) -> bool:
    """Whether what a file defines is state of the program."""
    if file.startswith("<") or _is_torchs(file) or any(folder in file for folder in _INSTALLED):
        return False
    return not (_is_pythons(file) or os.path.realpath(file).startswith(_BELOW))


def is_own_module(module: ModuleType | None) -> bool:
    """Whether what a module defines is state of the program."""
    return has_own_state(getattr(module, "__file__", None) or "<unknown>")


def _is_pythons(file: str) -> bool:
    if any(folder in file for folder in _INSTALLED):
        return False
    return os.path.realpath(file).startswith(_PYTHON) if os.path.isabs(file) else False
