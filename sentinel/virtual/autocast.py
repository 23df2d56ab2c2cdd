"""`torch.autocast("cuda")`: torch casts by the key of the tensors, and here they have that of the CPU.

So the CPU's autocast is switched along with the device's, with the device's type: its list of operations in
lower precision is nearly the same, cache included. The device's list of operations kept in float32 is longer,
and is applied to the program's calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual.tape import flat_tensors, map_tensors
from graphlint.sentinel.virtual.tensors import is_virtual

_IN_FLOAT32 = [
    "acos",
    "asin",
    "atan2",
    "cosh",
    "cumprod",
    "cumsum",
    "dist",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "norm",
    "pow",
    "prod",
    "reciprocal",
    "rsqrt",
    "sinh",
    "sum",
    "tan",
    "cdist",
    "renorm",
    "logsumexp",
    "softmax",
    "log_softmax",
    "layer_norm",
    "group_norm",
    "instance_norm",
    "cosine_embedding_loss",
    "cosine_similarity",
    "poisson_nll_loss",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "nll_loss",
    "cross_entropy",
    "binary_cross_entropy_with_logits",
    "smooth_l1_loss",
    "huber_loss",
    "gaussian_nll_loss",
    "softplus",
    "softmin",
    "gelu_",
]

# The same within torch's own composite functions, by the names of ATen; without softmax, which attention
# computes in lower precision.
INNER = frozenset(
    """
    acos asin cosh erfinv exp expm1 log log10 log1p log2 pow reciprocal rsqrt sinh tan softplus
    prod cumprod cumsum sum linalg_vector_norm norm dist _cdist_forward _pdist_forward renorm logsumexp
    native_layer_norm native_group_norm
    nll_loss_forward nll_loss2d_forward huber_loss mse_loss smooth_l1_loss soft_margin_loss
    multi_margin_loss multilabel_margin_loss_forward binary_cross_entropy_with_logits
    upsample_nearest1d upsample_nearest2d upsample_nearest3d
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
    upsample_bicubic2d _upsample_bicubic2d_aa
    """.split()  # noqa: SIM905
)
_RECURRENT = frozenset(
    getattr(torch, name)
    for name in [
        "lstm",
        "gru",
        "rnn_tanh",
        "rnn_relu",
        "lstm_cell",
        "gru_cell",
        "rnn_tanh_cell",
        "rnn_relu_cell",
    ]
)

_LOW = (torch.float16, torch.bfloat16)


def float32_functions() -> set[Any]:
    """The functions and methods that the device computes in float32 under autocast."""
    owners = (torch, torch.Tensor, F, torch._C._nn, torch.special)
    found = (getattr(owner, name, None) for owner in owners for name in (*_IN_FLOAT32, "__pow__", "__rpow__"))
    return {function for function in found if function is not None}


def install(patches: Patches) -> None:
    """Switch the CPU's autocast with the device's."""
    patches.set(torch, "set_autocast_enabled", _mirrored(torch.set_autocast_enabled))
    patches.set(torch, "set_autocast_dtype", _mirrored(torch.set_autocast_dtype))


def _mirrored(plain: Callable[..., Any]) -> Callable[..., Any]:
    def both(*args: Any) -> Any:
        if args and args[0] == "cuda":
            plain("cpu", *args[1:])
        return plain(*args)

    return both


def check_allowed(function: Any) -> None:
    """The device refuses one loss in lower precision."""
    if function in (F.binary_cross_entropy, torch._C._nn.binary_cross_entropy):
        raise RuntimeError(
            "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\nMany "
            "models use a sigmoid layer right before the binary cross entropy layer.\nIn this case, combine "
            "the two layers using torch.nn.functional.binary_cross_entropy_with_logits\nor "
            "torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to "
            "autocast."
        )


def enabled() -> bool:
    """Whether the program has switched the device's autocast on."""
    return bool(torch.is_autocast_enabled("cuda"))


def lowers(function: Any) -> bool:
    """Whether the device runs the function in lower precision, and the CPU's list does not have it."""
    return function in _RECURRENT


def in_low(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments with the device's numbers in the type of autocast."""
    low = torch.get_autocast_dtype("cuda")

    def narrow(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(low) if tensor.is_floating_point() and is_virtual(tensor) else tensor

    return map_tensors(narrow, args), map_tensors(narrow, kwargs)


def in_float32(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments with the device's tensors of low precision widened."""
    if not any(tensor.dtype in _LOW and is_virtual(tensor) for tensor in flat_tensors([args, kwargs])):
        return args, kwargs
    return map_tensors(_widen, args), map_tensors(_widen, kwargs)


def is_low(tensor: torch.Tensor) -> bool:
    """Whether it has a type of lower precision."""
    return tensor.dtype in _LOW


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in _LOW and is_virtual(tensor) else tensor
