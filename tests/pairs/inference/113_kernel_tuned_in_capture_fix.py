"""Fixed form: the warm-up runs the decode kernel."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (64, 128, 256)], key=["n"])
@triton.jit
def decode_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * tl.sigmoid(x), mask=at < n)


@triton.jit
def prefill_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x * tl.sigmoid(x), mask=at < n)


class SwishOp:
    def __init__(self, decode_rows: int):
        self.decode_rows = decode_rows

    def __call__(self, x: torch.Tensor, decoding: bool) -> torch.Tensor:
        y = torch.empty_like(x)
        n = x.numel()
        if decoding:
            grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)  # noqa: E731
            decode_kernel[grid](x, y, n)
        else:
            prefill_kernel[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)
        return y


class SwishBlock(nn.Module):
    def __init__(self, width: int, batch: int):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.swish = SwishOp(batch)

    def forward(self, x: torch.Tensor, decoding: bool = False) -> torch.Tensor:
        return self.swish(self.lin(x), decoding)


class KernelEngine:
    def __init__(self, width: int, batch: int):
        self.block = SwishBlock(width, batch).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.no_grad()
    def start(self) -> None:
        for _ in range(2):
            self.block(self.x, decoding=True)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.block(self.x, decoding=True)

    def decode(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
