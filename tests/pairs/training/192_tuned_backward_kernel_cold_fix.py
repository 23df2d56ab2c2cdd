"""An autotuned Triton kernel does the backward of a custom function. The warm-up runs under `no_grad` and never
reaches it, so that it is tuned inside the capture."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (256, 1024)], key=["n"])
@triton.jit
def grad_kernel(x, g, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    value = tl.load(x + at, mask=keep)
    tl.store(out + at, tl.load(g + at, mask=keep) * 2.0 * value, mask=keep)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out, n = torch.empty_like(x), x.numel()
        grad_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, g.contiguous(), out, n)
        return out


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return Square.apply(self.inner(x)).mean()


class Captured:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")

    def step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x)
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()


def main():
    run = Captured(Net(64).cuda(), (16, 64))
    run.capture()
    return run
