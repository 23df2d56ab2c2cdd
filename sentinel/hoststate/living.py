"""What a weak reference to a tensor or a storage leads to."""

from __future__ import annotations

import weakref
from typing import Any

import torch


def living(reference: weakref.ref[Any]) -> Any:
    """The referent, fit for use, or None.

    Torch keeps the Python object of a tensor that only C++ holds, and it stays weakly reachable. Whoever gets
    it that way has to tell torch that Python owns it again, or it is freed with the C++ tensor while in use.
    """
    found = reference()
    if isinstance(found, (torch.Tensor, torch.UntypedStorage)):
        repair = getattr(found, "_fix_weakref", None)
        if repair is not None:
            with torch._C.DisableTorchFunction():
                repair()
    return found


def weakly(value: Any) -> weakref.ref[Any] | None:
    """A weak reference, or None where there can be none, or none that is safe.

    Some versions of torch free streams and events without telling those who refer to them weakly.
    """
    if type(value).__module__.startswith("torch") and not isinstance(value, _SAFE):
        return None
    try:
        return weakref.ref(value)
    except TypeError:
        return None


_SAFE = (torch.Tensor, torch.UntypedStorage, torch.nn.Module, torch.optim.Optimizer, torch.cuda.CUDAGraph)
