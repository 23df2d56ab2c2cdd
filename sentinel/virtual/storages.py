"""What a storage answers about its device, which is what saving, loading and copying of objects go by."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.calls import device_type
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.tensors import CUDA, device_memory
from graphlint.sentinel.virtual.transfers import download, upload

Storage = torch.UntypedStorage
_Base = torch._C.StorageBase


_plain_device = vars(_Base)["device"].__get__
_plain = {name: getattr(Storage, name) for name in ("cpu", "to", "clone", "resize_", "_write_file")}


def install(patches: Patches) -> None:
    """Replace them on `torch.UntypedStorage`."""
    patches.set(Storage, "device", property(lambda self: CUDA if on_device(self) else _plain_device(self)))
    patches.set(Storage, "is_cuda", property(on_device))
    for name, function in _METHODS.items():
        patches.set(Storage, name, function)


def _cpu(self: Any) -> Any:
    return download(_bytes(self)).untyped_storage() if on_device(self) else _plain["cpu"](self)


def _cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    return self if on_device(self) else upload(_bytes(self), non_blocking).untyped_storage()


def _to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
    kind = device_type(device)
    if kind == "cuda":
        return _cuda(self, None, non_blocking)
    return _cpu(self) if kind == "cpu" else _plain["to"](self, device=device, non_blocking=non_blocking)


def _clone(self: Any) -> Any:
    return _bytes(self).clone().untyped_storage() if on_device(self) else _plain["clone"](self)


def _resize(self: Any, size: int) -> Any:
    if not on_device(self):
        return _plain["resize_"](self, size)
    if size != self.nbytes():
        errors.refuse("the resizing of a storage on the device")
    return None


def _share(self: Any, *args: Any) -> Any:
    if device().current.capture is not None:
        raise errors.cuda_error(errors.UNSUPPORTED)
    errors.refuse("memory shared between processes")


def _write_file(self: Any, *args: Any) -> Any:
    if on_device(self):
        device().pageable_copy()
        device().note_synchronisation()
        device().current.finish()
    return _plain["_write_file"](self, *args)


def on_device(storage: Any) -> bool:
    """Whether the storage lies in the device's memory."""
    memory = device_memory()
    return memory.low <= storage.data_ptr() < memory.high


def _bytes(storage: Any) -> torch.Tensor:
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        return torch.empty(0, dtype=torch.uint8).set_(storage)


_METHODS = {
    "cpu": _cpu,
    "cuda": _cuda,
    "to": _to,
    "clone": _clone,
    "resize_": _resize,
    "_share_cuda_": _share,
    "_write_file": _write_file,
}
