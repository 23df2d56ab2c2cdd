"""Operations that a capture refuses, and how: measured on an H200 (torch 2.11), row by row in docs/measured.

The keys are names of ATen, without the overload unless it matters. Nothing here is a guess: an operation that
is not listed is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.tensors import is_virtual

# They need a number from the device and wait for the stream: the capture is lost.
WAITING = frozenset(
    """
    _local_scalar_dense nonzero nonzero_numpy is_nonzero masked_select _unique _unique2 unique_consecutive
    unique_dim_consecutive _linalg_check_errors linalg_lstsq linalg_lu_factor linalg_eig cholesky to_sparse
    _to_sparse to_sparse_csr _to_sparse_csr to_sparse_csc _to_sparse_csc to_sparse_bsr _to_sparse_bsr allclose
     normal.Tensor_Tensor normal.float_Tensor
    linspace.Tensor_Tensor linspace.Tensor_Scalar linspace.Scalar_Tensor
    logspace.Tensor_Tensor logspace.Tensor_Scalar logspace.Scalar_Tensor
    """.split()  # noqa: SIM905
)
# They copy something of theirs from or to pageable memory: the call fails, the capture survives.
_COPYING = frozenset(["_linalg_svd", "linalg_matrix_exp", "_ctc_loss", "linalg_pinv", "bincount"])


def check(name: str, overload: str, args: Any, kwargs: Any, capture: Any) -> None:
    """Raise what the device raises when this operation is captured; return if it may be."""
    if name in WAITING or f"{name}.{overload}" in WAITING:
        raise capture.fail(errors.UNSUPPORTED)
    elif name in _COPYING:
        raise RuntimeError(errors.PAGEABLE)
    elif name in _BY_ARGUMENTS:
        _BY_ARGUMENTS[name](args, kwargs, capture)
    elif kwargs.get("check_errors") is True:
        raise capture.fail(errors.UNSUPPORTED)


_REFUSED_THOUGH_NOT_WAITING = frozenset(["_coalesce", "hspmm", "linalg_ldl_factor_ex", "unique_dim"])


class _Probe:
    """Stands for a capture where only the question is asked."""

    invalid = False

    def fail(self, text: str) -> RuntimeError:
        return RuntimeError(text)

    def lose(self, error: RuntimeError) -> RuntimeError:
        return error


def waits(name: str, overload: str, args: Any, kwargs: Any) -> bool:
    """Whether the operation waits for the device in eager execution: what a capture refuses is what waits."""
    try:
        check(name, overload, args, kwargs, _Probe())
    except RuntimeError:
        return name not in _REFUSED_THOUGH_NOT_WAITING
    return False


def _repeat_interleave(args: Any, kwargs: Any, capture: Any) -> None:
    if isinstance(args[0], torch.Tensor) and len(args) < 2 and kwargs.get("output_size") is None:
        raise capture.fail(errors.UNSUPPORTED)


def _filled(args: Any, kwargs: Any, capture: Any) -> None:
    value = kwargs["value"] if "value" in kwargs else args[-1]
    if isinstance(value, torch.Tensor) and is_virtual(value):  # a value on the host is read there
        raise capture.fail(errors.UNSUPPORTED)


def _equal(args: Any, kwargs: Any, capture: Any) -> None:
    first, second = args
    same = first.data_ptr() == second.data_ptr() and first.stride() == second.stride()
    if not (same and first.size() == second.size()):  # the same memory is equal without a look
        raise capture.fail(errors.UNSUPPORTED)


def _isin(args: Any, kwargs: Any, capture: Any) -> None:
    elements, among = args[0], args[1]
    if not all(isinstance(given, torch.Tensor) for given in (elements, among)):
        return
    if among.numel() >= 10 * elements.numel() ** 0.145:  # then it sorts, and counts what is unique
        raise capture.fail(errors.UNSUPPORTED)


def _segment_reduce(args: Any, kwargs: Any, capture: Any) -> None:
    if not kwargs.get("unsafe"):
        raise capture.fail(errors.UNSUPPORTED)


def _histc(args: Any, kwargs: Any, capture: Any) -> None:
    low = args[2] if len(args) > 2 else kwargs.get("min", 0)
    high = args[3] if len(args) > 3 else kwargs.get("max", 0)
    if low == high:
        raise RuntimeError(errors.PAGEABLE)


def _index(args: Any, kwargs: Any, capture: Any) -> None:
    indices = [index for index in args[1] if index is not None]
    if any(_is_mask(index) and is_virtual(index) for index in indices):
        raise capture.fail(errors.UNSUPPORTED)
    if any(not is_virtual(index) and not _is_mask(index) for index in indices):
        raise RuntimeError(errors.PAGEABLE)


def _index_put(args: Any, kwargs: Any, capture: Any) -> None:
    value = args[2] if len(args) > 2 else kwargs["values"]
    indices = [index for index in args[1] if index is not None]
    if len(indices) == 1 and _is_mask(indices[0]) and not is_virtual(value) and value.numel() == 1:
        if is_virtual(indices[0]):
            return  # becomes masked_fill
    _index(args, kwargs, capture)
    if not is_virtual(value):
        raise RuntimeError(errors.PAGEABLE)


def _failing(text: str) -> Callable[[Any, Any, Any], None]:
    def fail(args: Any, kwargs: Any, capture: Any) -> None:
        error = RuntimeError(text)
        capture.lose(error)
        raise error

    return fail


_THRUST = "failed to synchronize: cudaErrorStreamCaptureUnsupported: " + errors.UNSUPPORTED
_CUSOLVER = "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling "
_coalesce = _failing(f"transform: {_THRUST}")
_hspmm = _failing(f"parallel_for: {_THRUST}")
_unique_dim = _failing(f"merge_sort: {_THRUST}")
_eigh = _failing(
    f"{_CUSOLVER}`cusolverDnXsyevd( handle, params, jobz, uplo, n, CUDA_R_32F, reinterpret_cast<void*>(A), "
    "lda, CUDA_R_32F, reinterpret_cast<void*>(W), CUDA_R_32F, )`"
)
_eigvals = _failing(f"{_CUSOLVER}`cusolverDnXgeev`")
_ldl_factor = _failing(f"{_CUSOLVER}`cusolverDnSsytrf`")


def _is_mask(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.bool, torch.uint8)


_BY_ARGUMENTS: dict[str, Callable[[Any, Any, Any], None]] = {
    "histc": _histc,
    "index": _index,
    "_index_put_impl_": _index_put,
    "index_put": _index_put,
    "index_put_": _index_put,
    "repeat_interleave": _repeat_interleave,
    "index_fill": _filled,
    "index_fill_": _filled,
    "masked_fill": _filled,
    "masked_fill_": _filled,
    "equal": _equal,
    "isin": _isin,
    "segment_reduce": _segment_reduce,
    "unique_dim": _unique_dim,
    "_linalg_eigvals": _eigvals,
    "linalg_ldl_factor_ex": _ldl_factor,
    "_coalesce": _coalesce,
    "hspmm": _hspmm,
    "_linalg_eigh": _eigh,
}
