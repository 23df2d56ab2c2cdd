"""A Triton kernel with two configurations to choose from, for `claim_programs.py`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["count"])
@triton.jit
def _double(x, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < count) * 2, mask=at < count)


def double(x: torch.Tensor) -> None:
    _double[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, x.numel())
