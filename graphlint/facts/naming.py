"""Dotted module names of files, and the files that a dotted name can mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile

# A lone script of one of these names elsewhere in the tree is not what `import triton` means.
_THIRD_PARTY = """
apex cuda cupy cutlass deepspeed flash_attn flashinfer jax megatron numba numpy nvtx pytest ray safetensors
scipy sglang torch torchvision transformers triton vllm warp xformers
"""
_FOREIGN = frozenset(sys.stdlib_module_names) | frozenset(_THIRD_PARTY.split())
_SOURCE_FOLDERS = ("src", "lib", "python")


class ModuleIndex:
    """The module names of a set of files.

    A file belongs to the package of the folders with an `__init__.py` above it; a folder without one
    inside such a package belongs to it too. Any other file is a top-level module, found by the tail of
    its path as well, which is what namespace packages need.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = frozenset(paths)
        self._folders: dict[str, str] = {}
        self._top = os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else ""
        self._by_name: dict[str, list[str]] = {}
        self._by_tail: dict[str, list[str]] = {}
        for path in paths:
            if self._is_hidden(path):
                continue
            name, tail = self.name_of(path), _tail(path)
            self._by_name.setdefault(name, []).append(path)
            self._by_tail.setdefault(tail, []).append(path)
        self._found: dict[tuple[str, str], str | None] = {}

    def _is_hidden(self, path: str) -> bool:
        """Whether a package of the same name stands beside a module: Python imports the package."""
        return os.path.join(path[: -len(".py")], "__init__.py") in self._paths

    def name_of(self, path: str) -> str:
        """The dotted name of a file; that of a package for its `__init__.py`."""
        folder, stem = os.path.dirname(path), os.path.basename(path)[: -len(".py")]
        package = self.package_of(folder)
        if stem == "__init__":
            return package or os.path.basename(folder)
        return f"{package}.{stem}" if package else stem

    def package_of(self, folder: str) -> str:
        """The dotted name of a folder; empty when it is in no package."""
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = self._package(folder)
        return known

    def _package(self, folder: str) -> str:
        parent, base = os.path.split(folder)
        if not base.isidentifier():
            return ""
        if self._has_init(folder):
            above = self.package_of(parent)
            return f"{above}.{base}" if above else base
        # A gap inside a package. Not sought above the project: what lies there is somebody else's.
        above = self.package_of(parent) if folder.startswith(self._top + os.sep) else ""
        return f"{above}.{base}" if above else ""

    def _has_init(self, folder: str) -> bool:
        init = os.path.join(folder, "__init__.py")
        return init in self._paths or os.path.isfile(init)

    def relative(self, path: str, level: int) -> str:
        """The dotted name of the package that `level` leading dots mean in a file.

        Outside packages it is made of the folder's name, which `find` resolves from that file.
        """
        folder = os.path.dirname(path)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        return self.package_of(folder) or os.path.basename(folder)

    def find(self, dotted: str, importer: str = "") -> str | None:
        """The file that `dotted` means for an importing file, or None when it is not in the project.

        Of several candidates it is the one that shares most of its path with the importer.
        """
        key = (dotted, os.path.dirname(importer))
        if key not in self._found:
            self._found[key] = self._find(dotted, importer)
        return self._found[key]

    def _find(self, dotted: str, importer: str) -> str | None:
        candidates = self._by_name.get(dotted, [])
        if candidates and "." not in dotted:
            packages = [path for path in candidates if _is_init(path)]
            candidates = _reachable(dotted, candidates, importer) or packages
        return _nearest(candidates or self._by_path(dotted), importer)

    def _by_path(self, dotted: str) -> list[str]:
        """Files whose path ends as `dotted` says, below a folder that could be on the module search path."""
        stem = os.path.join("", *dotted.split("."))
        if "." not in dotted or not stem:
            return []
        found = []
        for path in self._by_tail.get(dotted.rpartition(".")[2], ()):
            whole = os.path.dirname(path) if _is_init(path) else path[: -len(".py")]
            if whole.endswith(os.sep + stem) and not self.package_of(whole[: -len(stem) - 1]):
                found.append(path)
        return found


def _is_init(path: str) -> bool:
    return os.path.basename(path) == "__init__.py"


def _tail(path: str) -> str:
    folder, base = os.path.split(path)
    return os.path.basename(folder) if base == "__init__.py" else base[: -len(".py")]


def _reachable(name: str, candidates: Iterable[str], importer: str) -> list[str]:
    """The top-level modules that an importer's search path would plausibly hold, the closest kind first."""
    if not importer:
        return list(candidates)
    home = os.path.dirname(importer)
    same = [path for path in candidates if _root(path) == home]
    if same or name in _FOREIGN:
        return same
    above = [path for path in candidates if _is_above(_root(path), home)]
    return above or list(candidates)


def _root(path: str) -> str:
    """The folder that must be on the module search path for a top-level module or package."""
    folder = os.path.dirname(path)
    return os.path.dirname(folder) if _is_init(path) else folder


def _is_above(root: str, home: str) -> bool:
    if os.path.basename(root) in _SOURCE_FOLDERS:
        root = os.path.dirname(root)
    return home == root or home.startswith(root.rstrip(os.sep) + os.sep)


def _nearest(candidates: Sequence[str], importer: str) -> str | None:
    if not candidates:
        return None
    return min(candidates, key=lambda path: (-_shared(path, importer), path.count(os.sep), path))


def _shared(left: str, right: str) -> int:
    """How many leading folders two paths have in common."""
    pairs = zip(os.path.dirname(left).split(os.sep), os.path.dirname(right).split(os.sep), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
