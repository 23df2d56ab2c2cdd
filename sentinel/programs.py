"""Runs a program as `__main__`, as `python script.py` and `python -m module` do."""

from __future__ import annotations

import importlib.util
import io
import os
import pkgutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, SourcelessFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any


class NoProgramError(Exception):
    """There is nothing to run under this name; the message says so as Python does."""


@dataclass(frozen=True, slots=True)
class Program:
    """A script, a folder or an archive with a `__main__.py`, or a module, and its arguments."""

    name: str
    arguments: Sequence[str] = ()
    is_module: bool = False

    def execute(self) -> None:
        """Run it; what it raises goes on, SystemExit as well. Raises NoProgramError before it begins.

        `sys.argv`, the first entry of `sys.path` and the module `__main__` are left as the program has them:
        its threads and exit handlers go on after it has come to its end.
        """
        _put_first_on_path(os.getcwd() if self.is_module else _folder_of(self.name))
        sys.argv = ["-m" if self.is_module else self.name, *self.arguments]
        module, code = self._of_module() if self.is_module else self._of_path()
        if self.is_module:  # only now is it known where it is, and packages that were imported have seen less
            sys.argv[0] = str(module.__file__)
        sys.modules["__main__"] = module
        exec(code, module.__dict__)

    def _of_module(self) -> tuple[ModuleType, CodeType]:
        spec = _spec_of(self.name)
        if spec is not None and spec.submodule_search_locations is not None:
            inner = _spec_of(f"{self.name}.__main__")
            if inner is None:
                raise NoProgramError(f"{self.name} is a package and has no module {self.name}.__main__")
            spec = inner
        if spec is None:
            raise NoProgramError(f"no module named {self.name}")
        return _made(spec)

    def _of_path(self) -> tuple[ModuleType, CodeType]:
        if os.path.isfile(self.name) and not _holds_modules(self.name):
            return _script(os.path.abspath(self.name))
        spec = PathFinder.find_spec("__main__", [os.path.abspath(self.name)])
        if spec is None:
            missing = "holds no __main__.py" if os.path.exists(self.name) else "does not exist"
            raise NoProgramError(f"{self.name} {missing}")
        return _made(spec)


def without_own_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error of the program, from the program's first frame on."""
    first = trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals is globals():
            first = trace.tb_next
        trace = trace.tb_next
    while first is not None and first.tb_frame.f_code.co_filename.startswith("<frozen "):
        first = first.tb_next
    return first


def _put_first_on_path(folder: str) -> None:
    """In the place of this command's own folder, unless Python was told to have none there."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _folder_of(script: str) -> str:
    if _holds_modules(script):
        return os.path.abspath(script)
    return os.path.dirname(os.path.realpath(script))


def _holds_modules(path: str) -> bool:
    """Return whether a path is a folder or an archive, from which Python imports."""
    return pkgutil.get_importer(path) is not None


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise
    except ValueError:  # a module that was made without one, such as `__main__`
        return None


def _made(spec: ModuleSpec) -> tuple[ModuleType, CodeType]:
    """Return the module `__main__` of a spec, as `python -m` leaves it, and its code."""
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None:
        raise NoProgramError(f"no code to run for {spec.name}")
    module = _main_module(loader, spec.origin)
    module.__spec__ = spec
    module.__package__ = spec.parent
    module.__dict__["__cached__"] = spec.cached
    return module, code


def _script(path: str) -> tuple[ModuleType, CodeType]:
    """Return the module `__main__` of a file and its code, of which no compiled copy is left on the disk."""
    if path.endswith(".pyc"):
        compiled = SourcelessFileLoader("__main__", path)
        code = compiled.get_code("__main__")
        assert code is not None
        return _main_module(compiled, path), code
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    return _main_module(SourceFileLoader("__main__", path), path), code


def _main_module(loader: Any, path: str | None) -> ModuleType:
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = sys.modules["builtins"]
    module.__loader__ = loader
    if path is not None:
        module.__file__ = path
    return module
