"""Kernels for tests on a GPU; Triton wants them in a module of their own."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def increase(pointer, amount, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Add a number to `BLOCK` elements."""
    at = tl.arange(0, BLOCK)
    tl.store(pointer + at, tl.load(pointer + at) + amount)
