"""`torch.accelerator`, and the old tensor types of `torch.cuda`, in terms of the device."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual.tensors import is_virtual
from graphlint.sentinel.virtual.transfers import upload

_TYPES = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
}


def install(patches: Patches) -> None:
    """Answer for an accelerator that is there."""
    accelerator = torch.accelerator
    patches.set(accelerator, "is_available", lambda: True)
    patches.set(accelerator, "device_count", lambda: 1)
    patches.set(accelerator, "current_accelerator", lambda check_available=False: torch.device("cuda"))
    patches.set(accelerator, "current_device_index", lambda: 0)
    patches.set(accelerator, "current_device_idx", lambda: 0)
    patches.set(accelerator, "set_device_index", lambda device: None)
    patches.set(accelerator, "current_stream", lambda device=None: torch.cuda.current_stream())
    patches.set(accelerator, "set_stream", lambda stream: torch.cuda.set_stream(stream))
    patches.set(accelerator, "synchronize", lambda device=None: torch.cuda.synchronize())
    for name, dtype in _TYPES.items():
        patches.set(torch.cuda, f"{name}Tensor", _tensor_type(f"{name}Tensor", dtype))


class _TensorType(type):
    dtype: torch.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.dtype == cls.dtype and is_virtual(instance)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            return torch.tensor(args[0], dtype=cls.dtype, device="cuda")
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            return upload(args[0].to(cls.dtype))
        return torch.empty(*args, dtype=cls.dtype, device="cuda")


def _tensor_type(name: str, dtype: torch.dtype) -> Any:
    return _TensorType(name, (), {"dtype": dtype, "__module__": "torch.cuda"})
