"""What the device says when it refuses: kinds of error and texts as measured on an H200 with torch 2.11."""

from __future__ import annotations

from typing import NoReturn

import torch

_TYPES = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"

UNSUPPORTED = "operation not permitted when stream is capturing"
INVALIDATED = "operation failed due to a previous error during capture"
UNJOINED = "capturing stream has unjoined work"
ISOLATION = "dependency created on uncaptured work in another stream"
IMPLICIT = "operation would make the legacy stream depend on a capturing blocking stream"
CAPTURED_EVENT = "operation not permitted on an event last recorded in a capturing stream"
DEVICE_ASSERT = "device-side assert triggered"

_NAMES = {
    UNSUPPORTED: "cudaErrorStreamCaptureUnsupported",
    INVALIDATED: "cudaErrorStreamCaptureInvalidated",
    UNJOINED: "cudaErrorStreamCaptureUnjoined",
    ISOLATION: "cudaErrorStreamCaptureIsolation",
    IMPLICIT: "cudaErrorStreamCaptureImplicit",
    CAPTURED_EVENT: "cudaErrorCapturedEvent",
    DEVICE_ASSERT: "cudaErrorAssert",
}

PAGEABLE = (
    "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned. "
    "Please use tensor.pin_memory() or allocate the tensor with pin_memory=True."
)
REPLAY_IN_CAPTURE = (
    "Cannot prepare for replay during capturing stage. during CUDA graph capture. If you need this call to "
    "be captured, please file an issue. Current cudaStreamCaptureStatus: cudaStreamCaptureStatusActive"
)
DEFAULT_STREAM = (
    "CUDA graphs must be captured on a non-default stream. "
    "(However, after capture, it's ok to replay them on the default stream.)"
)
OWNS_GRAPH = (
    "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."
)
NEVER_CAPTURED = "Called CUDAGraph::replay without a preceding successful capture."
EMPTY_GRAPH = (
    "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on wrong device "
    "or stream."
)
FOREIGN_GENERATOR = "Attempt to increase offset for a CUDA generator not in capture mode."
STUCK_GENERATOR = "Offset increment outside graph capture encountered unexpectedly."
TWO_DEVICES = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
SYNC_DEBUG = "called a synchronizing CUDA operation"

AcceleratorError: type[RuntimeError] = getattr(torch, "AcceleratorError", RuntimeError)


class Unsupported(NotImplementedError):
    """The virtual device cannot follow the program here; the message names what it met."""


def cuda_error(text: str) -> RuntimeError:
    """An error of the CUDA runtime, with the words that torch puts around it."""
    name = _NAMES[text]
    return AcceleratorError(
        f"CUDA error: {text}\nSearch for `{name}' in {_TYPES} for more information.\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
        "might be incorrect.\n"
    )


def refuse(what: str) -> NoReturn:
    """Stop because following `what` would give a wrong picture."""
    raise Unsupported(f"the virtual CUDA device cannot follow {what}")
