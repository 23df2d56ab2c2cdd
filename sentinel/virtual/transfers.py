"""Copies between host and device: which wait, which land late, which a capture refuses."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.virtual import streams
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.tape import Operation, Step
from graphlint.sentinel.virtual.tensors import is_pinned, is_virtual, ownerless, place

_copy = torch.ops.aten.copy_.default


class ToHost(Step):
    """Device to pinned memory: the value is taken now, the host sees it when it synchronises."""

    __slots__ = ("_source", "_target")

    def __init__(self, target: torch.Tensor, source: torch.Tensor) -> None:
        self._target, self._source = target, source

    def run(self) -> None:
        value, target = self._source.clone(), self._target
        streams.running().land_later(lambda: target.copy_(value))


def copy_into(target: torch.Tensor, source: torch.Tensor, non_blocking: bool) -> torch.Tensor:
    """`target.copy_(source)` where exactly one of them is on the device."""
    if is_virtual(target):
        _to_device(target, source, non_blocking)
    else:
        _to_host(target, source, non_blocking)
    return target


def _to_device(target: torch.Tensor, source: torch.Tensor, non_blocking: bool) -> None:
    if is_pinned(source) and _as_it_lies(source, target):
        issue(Operation(_copy, (ownerless(target), ownerless(source)), {}, None))
        if not non_blocking:
            device().wait_for(device().current)
        return
    device().pageable_copy()
    if not non_blocking:
        device().note_synchronisation()
    device().current.finish()
    _copy(target, source)


def _to_host(target: torch.Tensor, source: torch.Tensor, non_blocking: bool) -> None:
    if is_pinned(target) and _as_it_lies(target, source):
        if non_blocking:
            issue(ToHost(ownerless(target), ownerless(source)))
            return
        if device().current.capture is not None:
            issue(ToHost(ownerless(target), ownerless(source)))
        device().wait_for(device().current)
    else:
        device().pageable_copy()
        if not non_blocking:
            device().note_synchronisation()
        device().current.finish()
    _copy(target, source)


def _as_it_lies(host: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether the copy needs no other tensor on the host, which would not be pinned. Types are changed on the
    device."""
    if host.size() != other.size():
        return False
    return host.is_contiguous() or (host.stride() == other.stride() and host.dtype == other.dtype)


def issue(step: Step) -> None:
    """Give a step to the current stream, or to the capture that it is part of."""
    stream = device().current
    if stream.capture is not None:
        stream.capture.record(stream, step)
    else:
        stream.submit(step)


class _Upload(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, non_blocking: bool) -> torch.Tensor:
        return _uploaded(tensor, non_blocking)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return download(gradient), None


class _Download(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, non_blocking: bool) -> torch.Tensor:
        return _downloaded(tensor, non_blocking)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return upload(gradient), None


def upload(tensor: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """The tensor on the device: itself, or a copy."""
    if is_virtual(tensor):
        return tensor
    if tensor.requires_grad and torch.is_grad_enabled():
        moved: torch.Tensor = _Upload.apply(tensor, non_blocking)
        return moved
    return _uploaded(tensor, non_blocking)


def download(tensor: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """The tensor on the host: itself, or a copy."""
    if not is_virtual(tensor):
        return tensor
    if tensor.requires_grad and torch.is_grad_enabled():
        moved: torch.Tensor = _Download.apply(tensor, non_blocking)
        return moved
    return _downloaded(tensor, non_blocking)


def _uploaded(tensor: torch.Tensor, non_blocking: bool) -> torch.Tensor:
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), torch.no_grad():
        from graphlint.sentinel.virtual.tensors import adopt

        if tensor.layout != torch.strided or tensor.is_quantized:
            device().pageable_copy()
            return adopt(tensor)
        if not tensor.numel():
            return place(tensor)
        if not is_pinned(tensor):
            device().pageable_copy()
        placed = place(_dense(tensor))
        _to_device(placed, tensor.detach(), non_blocking)
        return placed


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """The shape and strides of a copy, which has no gaps."""
    return torch.empty_like(tensor, device="meta")


def _downloaded(tensor: torch.Tensor, non_blocking: bool) -> torch.Tensor:
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), torch.no_grad():
        if tensor.layout != torch.strided:
            device().pageable_copy()
            device().current.finish()
            return tensor.detach().clone()
        if non_blocking:
            host = place(_dense(tensor), pinned=True)
        else:
            host = torch.empty_like(tensor)
        _to_host(host, tensor.detach(), non_blocking)
        return host
