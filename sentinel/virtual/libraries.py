"""Handles and plans of cuBLAS, cuFFT and cuSOLVER: made at first use, which a capture must not be."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.virtual.capture import Capture
from graphlint.sentinel.virtual.device import device

_BLAS = frozenset(
    [
        "mm",
        "bmm",
        "addmm",
        "addmv",
        "addbmm",
        "baddbmm",
        "mv",
        "dot",
        "vdot",
        "addr",
        "_addmm_activation",
        "linear",
        "matmul",
        "_int_mm",
        "_scaled_mm",
    ]
)
_SOLVER = frozenset(["linalg_qr", "_linalg_det", "_linalg_slogdet", "geqrf", "linalg_householder_product"])
_FFT = frozenset(["_fft_r2c", "_fft_c2r", "_fft_c2c"])


def need(name: str, args: Any, capture: Capture | None) -> None:
    """Make what the operation needs; raise as the library does when that happens in a capture."""
    if name in _BLAS:
        _have(
            "cublas", capture, "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"
        )
    elif name in ("convolution", "_convolution", "cudnn_convolution", "mkldnn_convolution"):
        _have_convolution(args, capture)
    elif name in _FFT:
        shape = tuple(args[0].shape)
        _have(f"cufft {name} {shape} {args[1]}", capture, "cuFFT error: CUFFT_INTERNAL_ERROR")
    elif name in _SOLVER:
        _have(
            f"cusolver {args[0].dtype}",
            capture,
            "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`. If you "
            "keep seeing this error, you may use `torch.backends.cuda.preferred_linalg_library()` to try "
            "linear algebra operators with other supported backends. See "
            "https://pytorch.org/docs/stable/backends.html#torch.backends.cuda.preferred_linalg_library",
        )


def _have_convolution(args: Any, capture: Capture | None) -> None:
    _have("cudnn", capture, "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED")
    if torch.backends.cudnn.benchmark:
        what = f"cudnn benchmark {tuple(args[0].shape)} {tuple(args[1].shape)} {args[0].dtype}"
        _have(what, capture, "FIND was unable to find an engine to execute this computation")


def _have(what: str, capture: Capture | None, text: str) -> None:
    warm = device().warm
    if what in warm:
        return
    if capture is not None:
        error = RuntimeError(text)
        capture.lose(error)
        raise error
    warm.add(what)
