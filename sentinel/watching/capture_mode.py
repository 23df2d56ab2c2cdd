"""The mode under which the body of a capture runs: sees each operation, and where it goes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graphlint.sentinel.trials.writes import Writes, tensors_of

if TYPE_CHECKING:
    from graphlint.sentinel.watching.calls import Calls

_NO_WORK = ("empty", "set_", "detach", "alias", "lift", "_local_scalar_dense", "resize_", "_unsafe_view")
_SPELLED = {
    "_local_scalar_dense": "`.item()`",
    "_to_copy": "a copy to another device",
    "copy_": "`.copy_()`",
}


class CaptureMode(TorchDispatchMode):
    """Passes every operation on, and tells of those that fail or go to a stream that is not captured."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls, self._thread = calls, threading.get_ident()
        self.writes = Writes()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # to be kept out of it would cost every operation a call

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if threading.get_ident() == self._thread:
            return self._run(function, args, kwargs or {})
        with self._calls.capturing():  # a backward pass has threads of its own
            return self._run(function, args, kwargs or {})

    def _run(self, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        try:
            with torch._C.DisableTorchFunction():
                self._calls.recorded(function, args)
                self.writes.before(function, args, kwargs)
                result = function(*args, **kwargs)
                self.writes.after(args, result)
        except Exception as error:
            self._calls.failed(error, operation(function), spelled(operation(function)))
            raise
        if not torch.cuda.is_current_stream_capturing() and _is_work(function, args, result):
            self._calls.escaped(spelled(operation(function)))
        return result


def operation(function: Any) -> str:
    """The name of an operation of ATen without its overload."""
    return str(getattr(function, "_schema", function).name).rpartition("::")[2]


def spelled(name: str) -> str:
    """As the program would write it."""
    return _SPELLED.get(name, f"`torch.{name}`" if not name.endswith("_") else f"`.{name}()`")


def _is_work(function: Any, args: Any, result: Any) -> bool:
    name = operation(function)
    if name.startswith(_NO_WORK) or getattr(function, "is_view", False):
        return False
    return any(tensor.is_cuda for tensor in tensors_of([result, *args]))
