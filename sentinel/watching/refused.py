"""Where a device refuses a call in a capture: waiting of every kind, and what the virtual device says."""

from __future__ import annotations

import ctypes
import linecache
import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

import graphlint.sentinel.virtual
from graphlint.sentinel.findings import Place, Stack
from graphlint.sentinel.origins import is_program
from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual import capture as captures
from graphlint.sentinel.virtual import device as devices
from graphlint.sentinel.virtual.device import active as virtual
from graphlint.sentinel.watching.capture_mode import operation, spelled
from graphlint.sentinel.watching.runs import locals_of

if TYPE_CHECKING:
    from graphlint.sentinel.watching.calls import Calls

_FOLLOWED = "_graphlint_followed"
_INVALIDATED = 2  # what the driver calls a capture that is lost
_VIRTUAL = os.path.dirname(str(graphlint.sentinel.virtual.__file__)) + os.sep
_OWN = {
    "Device.synchronize": "`torch.cuda.synchronize()`",
    "from_data.<locals>.make": "`torch.tensor()`",
    "_repr": "`repr()`",
}
_WAITING = {
    torch.cuda.Stream: ("synchronize", "query"),
    torch.cuda.Event: ("synchronize", "query", "elapsed_time"),
}


def install(patches: Patches, calls: Calls) -> None:
    """Have failures of these calls told."""
    plain = torch._C._cuda_synchronize
    patches.set(torch._C, "_cuda_synchronize", _telling(plain, calls, "`torch.cuda.synchronize()`"))
    for kind, names in _WAITING.items():
        for name in names:
            what = f"`{kind.__name__}.{name}()`"
            patches.set(kind, name, _telling(getattr(kind, name), calls, what))
    patches.set(torch.cuda.CUDAGraph, "replay", _telling(torch.cuda.CUDAGraph.replay, calls, "`.replay()`"))
    if virtual():
        patches.set(captures.Capture, "lose", _losing(captures.Capture.lose, calls))
        patches.set(devices.Device, "pageable_copy", _copying(devices.Device.pageable_copy, calls))


def follow_triton(patches: Patches, calls: Calls) -> None:
    """Have launches of Triton kernels told, once Triton is there."""
    jit: Any = sys.modules.get("triton.runtime.jit")
    if jit is not None and not hasattr(jit.JITFunction.run, _FOLLOWED):
        patches.set(jit.JITFunction, "run", _launching(jit.JITFunction.run, calls))


def _launching(plain: Any, calls: Calls) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        calls.launched()
        return plain(*args, **kwargs)

    setattr(run, _FOLLOWED, True)
    return run


def _telling(plain: Any, calls: Calls, what: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return plain(*args, **kwargs)
        except Exception as error:
            calls.failed(error, "synchronize", what)
            raise

    return call


def _losing(plain: Any, calls: Calls) -> Any:
    def lose(self: Any, error: RuntimeError) -> RuntimeError:
        first = not self.invalid
        told: RuntimeError = plain(self, error)
        if first:
            calls.failed(told, *_caller(), True)
        return told

    return lose


def _copying(plain: Any, calls: Calls) -> Any:
    def pageable_copy(self: Any) -> None:
        try:
            plain(self)
        except RuntimeError as error:
            calls.failed(error, *_caller(), False)
            raise

    return pageable_copy


def _caller() -> tuple[str, str]:
    """What the program called on the virtual device: an operation, or a method or function of its own."""
    name = ""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_program(frame.f_code):
        code = frame.f_code
        if code.co_filename.startswith(_VIRTUAL) and not code.co_name.startswith("<"):
            if code.co_name == "run" and "function" in code.co_varnames:
                found = operation(locals_of(frame)["function"])
                return found, spelled(found)
            name = getattr(code, "co_qualname", code.co_name)
        frame = frame.f_back
    last = name.rpartition(".")[2].strip("_")
    return last, _OWN.get(name, f"`.{last}()`")


def is_formatting() -> bool:
    """Whether a tensor is being printed."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("_tensor_str.py"):
            return True
        frame = frame.f_back
    return False


def traced(error: BaseException) -> tuple[Stack, bool]:
    """Where in the program an error was raised, and whether a tensor was being printed."""
    found, formatting, entry = [], False, error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        formatting = formatting or code.co_filename.endswith("_tensor_str.py")
        if is_program(code):
            found.append(Place(code.co_filename, entry.tb_lineno, getattr(code, "co_qualname", code.co_name)))
        entry = entry.tb_next
    return tuple(reversed(found)), formatting


def source_of(stack: Stack) -> str:
    """The text of the innermost line."""
    line = linecache.getline(stack[0].file, stack[0].line).partition("  #")[0].strip() if stack else ""
    return f"`{line[:60]}`" if line else "a call"


def lost(stream: int) -> bool:
    """Whether the capture of a stream is lost, as far as the device tells without a call that it refuses."""
    if virtual():
        return False  # it has told of the first failure itself
    status = ctypes.c_int(0)
    driver().cuStreamIsCapturing(ctypes.c_void_p(stream), ctypes.byref(status))
    return status.value == _INVALIDATED


def driver() -> Any:
    """The driver's library, which is there where torch has a device."""
    return ctypes.CDLL("libcuda.so.1")
