"""Where the program's own calls arrive: which device it names, and what call an operation is part of.

Below, in ATen, a factory that asks for the CPU may be the program's wish or a detail of a composite operation
on tensors of the device, which are CPU tensors to torch. So the program's wish is read here, before torch
sees it, and a factory that belongs to a call with tensors of the device makes its tensor there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from graphlint.sentinel.virtual import autocast, backward
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.tape import flat_tensors
from graphlint.sentinel.virtual.tensors import CPU, is_virtual, place
from graphlint.sentinel.virtual.transfers import download, upload

_local = threading.local()

_FACTORIES = {
    getattr(torch, name)
    for name in [
        "arange",
        "empty",
        "empty_strided",
        "eye",
        "full",
        "linspace",
        "logspace",
        "ones",
        "rand",
        "randint",
        "randn",
        "randperm",
        "range",
        "scalar_tensor",
        "tril_indices",
        "triu_indices",
        "zeros",
        "normal",
        "complex",
    ]
}


_FLOAT32 = autocast.float32_functions()


class Frame:
    """One call of the program into torch."""

    __slots__ = ("args", "autocast", "device", "has_device_tensor", "kwargs")

    def __init__(self, args: Any, kwargs: Any, device: str | None) -> None:
        self.args, self.kwargs, self.device = args, kwargs, device
        self.has_device_tensor: bool | None = None
        self.autocast = autocast.enabled()  # below, in ATen, it is off for everything

    def involves_device(self) -> bool:
        if self.has_device_tensor is None:
            self.has_device_tensor = any(
                is_virtual(tensor) for tensor in flat_tensors([self.args, self.kwargs])
            )
        return self.has_device_tensor


def making_for_device(like: bool) -> bool:
    """Whether a factory reached now, without a tensor of the device, makes a tensor of the device."""
    frame: Frame | None = getattr(_local, "frame", None)
    if frame is None:
        return False
    if frame.device is not None:
        return frame.device == "cuda"
    return not like and frame.involves_device()


def casts() -> bool:
    """Whether the call that is going on is under the device's autocast."""
    frame: Frame | None = getattr(_local, "frame", None)
    return frame is not None and frame.autocast


def asked_for_host() -> bool:
    """Whether the program itself asked for the CPU in the call that is going on."""
    frame: Frame | None = getattr(_local, "frame", None)
    return frame is not None and frame.device == "cpu"


class CallMode(TorchFunctionMode):
    """Notes each call of this thread into torch, and answers those that torch would answer for a CPU."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if autocast.enabled():
            autocast.check_allowed(function)
            if function in _FLOAT32:
                with torch.autocast("cuda", enabled=False):
                    return self._answer(function, *autocast.in_float32(args, kwargs or {}))
            if autocast.lowers(function):
                args, kwargs = autocast.in_low(args, kwargs or {})
                with torch.autocast("cuda", enabled=False):
                    return self._answer(function, args, kwargs)
        return self._answer(function, args, kwargs)

    def _answer(self, function: Any, args: Any, kwargs: Any) -> Any:
        made = self._made(function, args, kwargs)
        backward.note(made)
        return made

    def _made(self, function: Any, args: Any, kwargs: Any) -> Any:
        instead = INSTEAD.get(function)
        if instead is not None:
            return instead(function, args, kwargs or {})
        if not kwargs:
            return within(function, args, {}, "cpu" if function in _FACTORIES else None)
        wanted = kwargs.get("device")
        if wanted is None and not kwargs.get("pin_memory"):
            return within(function, args, kwargs, "cpu" if function in _FACTORIES else None)
        return self._for_device(function, args, dict(kwargs))

    def _for_device(self, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        pinned = kwargs.pop("pin_memory", False)
        wanted = kwargs.get("device")
        kind = device_type(wanted) if wanted is not None else "cpu"
        if kind in ("cuda", "cpu"):
            kwargs["device"] = CPU
        made = within(function, args, kwargs, kind)
        return pin(made) if pinned and kind == "cpu" and isinstance(made, torch.Tensor) else made


def within(function: Any, args: Any, kwargs: Any, kind: str | None = None) -> Any:
    """Call torch, and let the factories below know what call they belong to."""
    before = getattr(_local, "frame", None)
    _local.frame = Frame(args, kwargs, kind)
    try:
        return function(*args, **kwargs)
    finally:
        _local.frame = before


def device_type(wanted: Any) -> str:
    """The kind of device that the program names; a number is the device's."""
    if isinstance(wanted, int):
        return "cuda"
    named = torch.device(wanted)
    if named.type == "cuda" and named.index not in (None, 0):
        raise torch.AcceleratorError("CUDA error: invalid device ordinal")
    return str(named.type)


def pin(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in page-locked memory."""
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), torch.no_grad():
        placed = place(tensor, pinned=True)
        placed.copy_(tensor.detach())
    return placed.requires_grad_(tensor.requires_grad)


def _from_data(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """`torch.tensor` and its like: made on the host and copied."""
    kwargs = dict(kwargs)
    wanted, pinned = kwargs.pop("device", None), kwargs.pop("pin_memory", False)
    needs_grad = kwargs.pop("requires_grad", False)
    data = args[0] if args else kwargs.get("data")
    if _default_is_device():
        wanted, kwargs["device"] = "cuda" if wanted is None else wanted, CPU
    kind = device_type(wanted) if wanted is not None else None
    _values_wait(data)
    if _on_device(data):
        made = (
            within(function, args, kwargs)
            if kind != "cpu"
            else within(function, (download(data), *args[1:]), kwargs)
        )
    else:
        made = within(function, args, kwargs)
        if kind == "cuda":
            made = upload(made)
        elif kind not in (None, "cpu"):
            made = made.to(wanted)
    if pinned:
        made = pin(made)
    return made.requires_grad_() if needs_grad else made


def _default_is_device() -> bool:
    """Whether `torch.set_default_device` names the device: its mode lies under all others."""
    stack = _get_current_function_mode_stack()
    contexts = [mode for mode in stack if isinstance(mode, DeviceContext)]
    return bool(contexts) and contexts[-1].device.type == "cuda"


def _values_wait(data: Any) -> None:
    """Numbers taken from tensors of the device, one by one, are waited for."""
    if isinstance(data, (list, tuple)) and any(is_virtual(tensor) for tensor in flat_tensors(list(data))):
        device().wait_for(device().current)


def _where(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A number on the host that is a tensor is copied; one of Python is not."""
    tensors = flat_tensors(args)
    if any(is_virtual(tensor) for tensor in tensors) and not all(is_virtual(tensor) for tensor in tensors):
        device().pageable_copy()
        device().note_synchronisation()
    return within(function, args, kwargs)


def _sparse(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Without a size it is computed on the host from the indices."""
    if len(args) < 3 and kwargs.get("size") is None and args and _on_device(args[0]):
        device().pageable_copy()
        device().note_synchronisation()
    return within(function, args, kwargs)


def _on_device(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and is_virtual(value)


def _one_hot(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """With a number of classes the device looks at no value; torch's CPU checks them."""
    indices = args[0]
    classes = args[1] if len(args) > 1 else kwargs.get("num_classes", -1)
    if not is_virtual(indices) or classes == -1:
        return within(function, args, kwargs)
    hot = torch.zeros(*indices.shape, classes, dtype=torch.int64, device="cuda")
    return hot.scatter_(-1, indices.unsqueeze(-1), 1)


def _tensor_split(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The places to split at must lie on the host."""
    places = args[1] if len(args) > 1 else kwargs.get("tensor_indices_or_sections")
    if isinstance(places, torch.Tensor) and is_virtual(places):
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on cuda:0"
        )
    return within(function, args, kwargs)


def from_data(plain: Any) -> Callable[..., Any]:
    """For calls from inside torch's own functions, which the mode does not see."""

    def make(*args: Any, **kwargs: Any) -> Any:
        return _from_data(plain, args, kwargs)

    return make


def _lstm(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """As single operations: the CPU's fused one keeps memory for the backward pass of unknown size."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        return within(function, args, kwargs)
    finally:
        torch._C._set_mkldnn_enabled(before)


INSTEAD: dict[Any, Callable[[Any, Any, dict[str, Any]], Any]] = {
    torch.tensor: _from_data,
    torch.as_tensor: _from_data,
    torch.asarray: _from_data,
    torch.nn.functional.one_hot: _one_hot,
    torch._C._nn._parse_to: within,
    torch.where: _where,
    torch.sparse_coo_tensor: _sparse,
    torch.tensor_split: _tensor_split,
    torch.Tensor.tensor_split: _tensor_split,
    torch.lstm: _lstm,
}
