"""Kernels and compiled helpers."""

import torch
import triton
import triton.language as tl


@torch.compile
def activate(x):
    return torch.tanh(x) * 2


@torch.compile(dynamic=False)
def normalise(x):
    return x / x.norm(dim=-1, keepdim=True)


@torch.compile(mode="reduce-overhead")
def graphed(x):
    return torch.sin(x) + 1


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned_scale(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def gated(x: torch.Tensor) -> torch.Tensor:
    return activate(x) * torch.sigmoid(x)  # expect: CG702
