"""Operations that a capture refuses, and how: measured on an H200 (torch 2.11), row by row in docs/measured.

The keys are names of ATen, without the overload unless it matters. Nothing here is a guess: an operation that
is not listed is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.capture import Capture
from graphlint.sentinel.virtual.tensors import is_virtual

# They need a number from the device and wait for the stream: the capture is lost.
WAITING = frozenset(
    [
        "_local_scalar_dense",
        "nonzero",
        "nonzero_numpy",
        "equal",
        "is_nonzero",
        "masked_select",
        "_unique",
        "_unique2",
        "unique_dim",
        "unique_consecutive",
        "unique_dim_consecutive",
        "repeat_interleave.Tensor",
        "_linalg_check_errors",
        "linalg_lstsq",
        "linalg_lu_factor",
        "to_sparse",
        "_to_sparse",
        "to_sparse_csr",
        "_to_sparse_csr",
        "to_sparse_csc",
        "_to_sparse_csc",
        "to_sparse_bsr",
        "_to_sparse_bsr",
        "masked_fill.Tensor",
        "masked_fill_.Tensor",
        "allclose",
    ]
)
# They copy something of theirs from or to pageable memory: the call fails, the capture survives.
_COPYING = frozenset(
    [
        "_linalg_svd",
        "linalg_matrix_exp",
        "_ctc_loss.Tensor",
        "_ctc_loss",
        "linalg_pinv",
        "bincount",
        "segment_reduce",
        "_linalg_eigvals",
        "linalg_eig",
    ]
)


def check(name: str, overload: str, args: Any, kwargs: Any, capture: Any) -> None:
    """Raise what the device raises when this operation is captured; return if it may be."""
    if name in WAITING or f"{name}.{overload}" in WAITING:
        if not _spared(name, args, kwargs):
            raise capture.fail(errors.UNSUPPORTED)
    elif name in _COPYING:
        raise RuntimeError(errors.PAGEABLE)
    elif name in _BY_ARGUMENTS:
        _BY_ARGUMENTS[name](args, kwargs, capture)


class _Probe:
    """Stands for a capture where only the question is asked."""

    invalid = False

    def fail(self, text: str) -> RuntimeError:
        return RuntimeError(text)


def waits(name: str, overload: str, args: Any, kwargs: Any) -> bool:
    """Whether the operation waits for the device in eager execution: what a capture refuses is what waits."""
    try:
        check(name, overload, args, kwargs, _Probe())
    except RuntimeError:
        return name not in ("_coalesce",)
    return False


def _spared(name: str, args: Any, kwargs: Any) -> bool:
    if name == "repeat_interleave":
        return kwargs.get("output_size") is not None
    if name.startswith("masked_fill"):
        return not is_virtual(args[2])  # a value on the host is read there
    return False


def _histc(args: Any, kwargs: Any, capture: Capture) -> None:
    low = args[2] if len(args) > 2 else kwargs.get("min", 0)
    high = args[3] if len(args) > 3 else kwargs.get("max", 0)
    if low == high:
        raise RuntimeError(errors.PAGEABLE)


def _index(args: Any, kwargs: Any, capture: Capture) -> None:
    indices = [index for index in args[1] if index is not None]
    if any(_is_mask(index) and is_virtual(index) for index in indices):
        raise capture.fail(errors.UNSUPPORTED)
    if any(not is_virtual(index) and not _is_mask(index) for index in indices):
        raise RuntimeError(errors.PAGEABLE)


def _index_put(args: Any, kwargs: Any, capture: Capture) -> None:
    value = args[2] if len(args) > 2 else kwargs["values"]
    indices = [index for index in args[1] if index is not None]
    if len(indices) == 1 and _is_mask(indices[0]) and not is_virtual(value) and value.numel() == 1:
        return  # becomes masked_fill
    _index(args, kwargs, capture)
    if not is_virtual(value):
        raise RuntimeError(errors.PAGEABLE)


def _coalesce(args: Any, kwargs: Any, capture: Capture) -> None:
    capture.invalid = True
    raise RuntimeError(
        "transform: failed to synchronize: cudaErrorStreamCaptureUnsupported: " + errors.UNSUPPORTED
    )


def _eigh(args: Any, kwargs: Any, capture: Capture) -> None:
    capture.invalid = True
    raise RuntimeError(
        "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnXsyevd( handle, params, "
        "jobz, uplo, n, CUDA_R_32F, reinterpret_cast<void*>(A), lda, CUDA_R_32F, reinterpret_cast<void*>(W), "
        "CUDA_R_32F, )`"
    )


def _is_mask(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.bool, torch.uint8)


_BY_ARGUMENTS: dict[str, Callable[[Any, Any, Capture], None]] = {
    "histc": _histc,
    "index": _index,
    "_index_put_impl_": _index_put,
    "index_put": _index_put,
    "index_put_": _index_put,
    "_coalesce": _coalesce,
    "_linalg_eigh": _eigh,
}
