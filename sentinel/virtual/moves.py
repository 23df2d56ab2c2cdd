"""What a tensor answers about its device, and the ways that take its values somewhere else.

Most of them never reach a dispatch mode, because to torch these are CPU tensors.
"""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual.calls import device_type, pin
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.tensors import CUDA, is_pinned, is_virtual
from graphlint.sentinel.virtual.transfers import download, upload

Tensor = torch.Tensor
_Base = torch._C.TensorBase
_plain = {
    name: getattr(Tensor, name)
    for name in [
        "to",
        "numpy",
        "tolist",
        "__repr__",
        "new_tensor",
        "type",
        "__array__",
        "__dlpack_device__",
        "get_device",
        "share_memory_",
    ]
}
_getters = {name: vars(_Base)[name] for name in ("device", "is_cuda", "is_cpu")}


def install(patches: Patches) -> None:
    """Replace them on `torch.Tensor`, for every tensor and every thread."""
    get_device, get_cpu = _getters["device"].__get__, _getters["is_cpu"].__get__
    get_cuda = _getters["is_cuda"].__get__
    patches.set(Tensor, "device", property(lambda self: CUDA if is_virtual(self) else get_device(self)))
    patches.set(Tensor, "is_cuda", property(lambda self: is_virtual(self) or get_cuda(self)))
    patches.set(Tensor, "is_cpu", property(lambda self: not is_virtual(self) and get_cpu(self)))
    for name, function in _METHODS.items():
        patches.set(Tensor, name, function)


def _cuda(
    self: torch.Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Any:
    moved = upload(self, non_blocking)
    return moved if memory_format is None else moved.contiguous(memory_format=memory_format)


def _cpu(self: torch.Tensor, memory_format: Any = None) -> Any:
    moved = download(self)
    return moved if memory_format is None else moved.contiguous(memory_format=memory_format)


def _to(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    wanted, rest, kwargs = _target(args, dict(kwargs))
    if wanted is None:
        return _plain["to"](self, *args, **kwargs)
    kind = device_type(wanted)
    non_blocking = bool(kwargs.get("non_blocking", _positional_non_blocking(rest)))
    dtype = kwargs.get("dtype", next((a for a in rest if isinstance(a, torch.dtype)), None))
    if kind == "cuda" and not is_virtual(self):
        moved = upload(self, non_blocking)
        moved = moved if dtype is None else _plain["to"](moved, dtype)
    elif kind == "cpu" and is_virtual(self):
        first = self if dtype is None else _plain["to"](self, dtype)
        moved = download(first, non_blocking)
    elif kind in ("cuda", "cpu"):
        moved = self
    else:
        return _plain["to"](self, wanted, *rest, **kwargs)
    kwargs.pop("non_blocking", None)
    if moved is self or kwargs.get("memory_format") is not None:
        return _plain["to"](moved, *[a for a in rest if not isinstance(a, bool)], **kwargs)
    return moved


def _target(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The device that a call of `to` names, and what else it says."""
    if "other" in kwargs:
        other = kwargs.pop("other")
        return other.device, (other.dtype, *args), kwargs
    if args and isinstance(args[0], Tensor):
        return args[0].device, (args[0].dtype, *args[1:]), kwargs
    if args and (args[0] is None or isinstance(args[0], (str, int, torch.device))):
        return args[0], args[1:], kwargs
    return kwargs.pop("device", None), args, kwargs


def _positional_non_blocking(rest: tuple[Any, ...]) -> bool:
    flags = [argument for argument in rest if isinstance(argument, bool)]
    return bool(flags and flags[0])


def _numpy(self: torch.Tensor, *, force: bool = False) -> Any:
    if not is_virtual(self):
        return _plain["numpy"](self, force=force)
    if not force:
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            "memory first."
        )
    return _plain["numpy"](download(self.detach()), force=True)


def _array(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    if is_virtual(self):
        _numpy(self)
    return _plain["__array__"](self, *args, **kwargs)


def _tolist(self: torch.Tensor) -> Any:
    return _plain["tolist"](download(self.detach())) if is_virtual(self) else _plain["tolist"](self)


def _repr(self: torch.Tensor, *, tensor_contents: Any = None) -> str:
    if not is_virtual(self):
        return str(_plain["__repr__"](self, tensor_contents=tensor_contents))
    device().wait_for(device().current)
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
        host = self.detach().clone()
    shown = str(_plain["__repr__"](host, tensor_contents=tensor_contents))
    body, at, dtype = shown[:-1].rpartition(", dtype=")
    suffix = f", device='cuda:0'{at}{dtype}" if at else ", device='cuda:0'"
    if self.grad_fn is not None:
        suffix += f", grad_fn=<{type(self.grad_fn).__name__}>"
    elif self.requires_grad:
        suffix += ", requires_grad=True"
    return f"{body or shown[:-1]}{suffix})" if at else f"{shown[:-1]}{suffix})"


def _new_tensor(self: torch.Tensor, data: Any, *, dtype: Any = None, device: Any = None, **rest: Any) -> Any:
    kind = device_type(device) if device is not None else "cuda" if is_virtual(self) else "cpu"
    where = {"device": kind} if kind == "cuda" else {}
    return torch.tensor(data, dtype=dtype or self.dtype, **where, **rest)


def _pin_memory(self: torch.Tensor, device: Any = None) -> Any:
    if is_virtual(self):
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
    return self if is_pinned(self) else pin(self)


def _type(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    if dtype is None:
        plain = str(_plain["type"](self)).replace("torch.cuda.", "torch.")
        return plain.replace("torch.", "torch.cuda.") if is_virtual(self) else plain
    named = dtype if isinstance(dtype, str) else f"torch.cuda.{dtype.__name__}" if _of_cuda(dtype) else None
    if named is not None:
        moved = upload(self) if named.startswith("torch.cuda.") else download(self)
        return _plain["type"](moved, named.replace("torch.cuda.", "torch."))
    return _plain["type"](self, dtype, non_blocking, **kwargs)


def _of_cuda(kind: Any) -> bool:
    return isinstance(kind, type) and kind.__module__ == "torch.cuda"


def _get_device(self: torch.Tensor) -> int:
    return 0 if is_virtual(self) else int(_plain["get_device"](self))


def _dlpack_device(self: torch.Tensor) -> Any:
    if not is_virtual(self):
        return _plain["__dlpack_device__"](self)
    from torch.utils.dlpack import DLDeviceType

    return (DLDeviceType.kDLCUDA, 0)


def _only_on_host(name: str) -> Any:
    plain = getattr(Tensor, name)

    def method(self: torch.Tensor, *args: Any) -> Any:
        if is_virtual(self):
            raise TypeError(f"{name} is only implemented on CPU tensors")
        return plain(self, *args)

    return method


def _record_stream(self: torch.Tensor, stream: Any) -> None:
    from graphlint.sentinel.virtual.tensors import address_of, device_memory

    block = device_memory().allocator.blocks.get(address_of(self))
    if block is not None:
        block.users.add(stream.stream_id)


def _share_memory(self: torch.Tensor) -> Any:
    return self if is_virtual(self) else _plain["share_memory_"](self)


_METHODS: dict[str, Any] = {
    "cuda": _cuda,
    "cpu": _cpu,
    "to": _to,
    "numpy": _numpy,
    "__array__": _array,
    "tolist": _tolist,
    "__repr__": _repr,
    "new_tensor": _new_tensor,
    "pin_memory": _pin_memory,
    "is_pinned": lambda self, device=None: is_pinned(self),
    "type": _type,
    "type_as": lambda self, other: _to(self, other),
    "get_device": _get_device,
    "__dlpack_device__": _dlpack_device,
    "record_stream": _record_stream,
    "share_memory_": _share_memory,
    **{name: _only_on_host(name) for name in ("apply_", "map_", "map2_")},
}
