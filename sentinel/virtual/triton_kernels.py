"""Triton: kernels run through its interpreter for the CPU, and are recorded with their arguments.

A kernel must be decorated while the device is in use, because Triton decides then whether it is interpreted.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any

import torch

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.tape import Call, flat_tensors, map_tensors
from graphlint.sentinel.virtual.tensors import is_virtual, ownerless
from graphlint.sentinel.virtual.transfers import issue

_SWITCH = "TRITON_INTERPRET"


def install(patches: Patches) -> None:
    """Have kernels interpreted, if Triton is installed."""
    if importlib.util.find_spec("triton") is None:
        return
    patches.set_item(os.environ, _SWITCH, "1")
    interpreter = importlib.import_module("triton.runtime.interpreter")
    compiled = importlib.import_module("triton.runtime.jit").JITFunction
    executor = interpreter.GridExecutor
    patches.set(executor, "__call__", _launching(executor.__call__))
    patches.set(executor, "_init_args_hst", lambda self, args, kwargs: (args, kwargs))
    patches.set(executor, "_restore_args_dev", lambda self, *rest: None)
    patches.set(compiled, "run", _refused)


def _launching(plain: Any) -> Any:
    def launch(self: Any, *args: Any, **kwargs: Any) -> None:
        _check(args, kwargs)
        held, named = map_tensors(ownerless, args), map_tensors(ownerless, kwargs)
        issue(Call(lambda: plain(self, *held, **named), flat_tensors([held, named])))

    return launch


def _check(args: Any, kwargs: Any) -> None:
    for given in (*args, *kwargs.values()):
        if isinstance(given, torch.Tensor) and not is_virtual(given):
            raise ValueError("Pointer argument cannot be accessed from Triton (cpu tensor?)")


def _refused(self: Any, *args: Any, **kwargs: Any) -> None:
    name = getattr(self, "__name__", "kernel")
    errors.refuse(f"the Triton kernel {name}: it was decorated before the device was there, hence compiled")
