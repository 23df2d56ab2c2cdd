"""`virtual_cuda()`: everything installed, and everything put back."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._device import _device_constructors

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual import (
    accelerator,
    autocast,
    backward,
    calls,
    compiling,
    custom,
    ended,
    graphs,
    grouping,
    moves,
    namespace,
    storages,
    triton_kernels,
)
from graphlint.sentinel.virtual.device import Device, active, device, use
from graphlint.sentinel.virtual.dispatch import modes
from graphlint.sentinel.virtual.instances import graphs_without_cpp
from graphlint.sentinel.virtual.streams import Order

WITH_GPU = "GRAPHLINT_VIRTUAL_BESIDE_GPU"


@contextmanager
def virtual_cuda(
    *, order: Order = "early", poison: bool = True, beside_gpu: bool = False
) -> Iterator[Device]:
    """Give the program a device called `cuda` that is made of ordinary memory.

    In `order="early"` each stream does its work when it is issued; in `"lagging"` it stays one step behind;
    in `"late"` it does it when something waits for it. Work that no edge orders happens differently in each.
    With the number of a stream (0 is the default stream) that one is early and the others are late; `race`
    runs a program so for each of its streams.
    Freed memory is poisoned, so that reading it never gives the old values by luck as it may on a GPU;
    `poison=False` leaves it as it is. On a machine with a GPU it is refused unless asked for twice: by
    `beside_gpu=True` and by the environment variable GRAPHLINT_VIRTUAL_BESIDE_GPU=1. It may be nested; the
    inner one is the outer one.
    """
    if active():
        yield device()
        return
    _refuse_beside_gpu(beside_gpu)
    patches = Patches()
    new = Device(order, poisons=poison)
    use(new)
    try:
        install(patches)
        with graphs_without_cpp(), _default_device_put_back(), _uncompiled(), modes():
            yield new
        for stream in list(new.streams.values()):
            stream.finish()
    finally:
        patches.restore()
        use(None)
        graphs.forget()
        ended.end()


@contextmanager
def _default_device_put_back() -> Iterator[None]:
    """What `set_default_device("cuda")` in the block began must not outlive the device."""
    before = _default_device()
    try:
        yield
    finally:
        if _default_device() != before:
            torch.set_default_device(before)


def _default_device() -> torch.device | None:
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return context.device if context is not None else None


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Functions compiled before the device was there run uncompiled as well: their kernels are the CPU's."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


def install(patches: Patches) -> None:
    """Replace what has to be replaced; `patches` knows how to undo it."""
    _device_constructors()  # torch keeps this list from its first use on: of the functions as they are now
    namespace.install(patches)
    moves.install(patches)
    storages.install(patches)
    triton_kernels.install(patches)
    accelerator.install(patches)
    autocast.install(patches)
    patches.set(torch, "compile", compiling.compile_)
    patches.set(torch, "cond", custom.cond)
    patches.set(torch.compiler, "cudagraph_mark_step_begin", lambda: None)
    for name in ("tensor", "as_tensor", "asarray"):
        patches.set(torch, name, calls.from_data(getattr(torch, name)))
    plain = torch._C._group_tensors_by_device_and_dtype
    patches.set(torch._C, "_group_tensors_by_device_and_dtype", grouping.by_device(plain))
    patches.set(threading.Thread, "run", _in_modes(threading.Thread.run))
    for module in (torch.autograd, torch.autograd.graph):
        plain = module._engine_run_backward
        patches.set(module, "_engine_run_backward", backward.engine(plain, calls.CallMode))
    patches.set(torch.library.Library, "impl", _remembering(torch.library.Library.impl))


def _refuse_beside_gpu(asked: bool) -> None:
    if not torch.cuda.is_available():
        return
    if not (asked and os.environ.get(WITH_GPU) == "1"):
        raise RuntimeError(
            "there is a GPU on this machine: use it, or ask for the virtual device twice, with "
            f"beside_gpu=True and {WITH_GPU}=1"
        )


def _in_modes(run: Callable[[Any], None]) -> Callable[[Any], None]:
    def run_in_modes(self: Any) -> None:
        if not active():
            run(self)
            return
        with modes():
            run(self)

    return run_in_modes


def _remembering(implement: Any) -> Any:
    def impl(self: Any, name: Any, body: Any, key: str = "", *args: Any, **kwargs: Any) -> Any:
        custom.remember(self, name, body, key)
        return implement(self, name, body, key, *args, **kwargs)

    return impl
