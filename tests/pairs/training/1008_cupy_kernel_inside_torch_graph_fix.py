"""Source: the note on library streams in cupy/cupy#4567, met with a custom loss in PyTorch.

Fixed: the kernel is launched on PyTorch's current stream.
"""

import cupy as cp
import torch
from torch import nn

_huber = cp.RawKernel(
    r"""
extern "C" __global__ void huber(const float* r, float* out, float delta, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) { float a = fabsf(r[i]); out[i] = a < delta ? 0.5f * a * a : delta * (a - 0.5f * delta); }
}
""",
    "huber",
)


def huber(residual, delta=1.0):
    residual = residual.contiguous()
    out = torch.empty_like(residual)
    n = residual.numel()
    with cp.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        _huber(((n + 255) // 256,), (256,), (residual.data_ptr(), out.data_ptr(), cp.float32(delta), n))
    return out


class Validator:
    def __init__(self, net: nn.Module, d):
        self.net = net.cuda().eval()
        self.x = torch.zeros(64, d, device="cuda")
        self.y = torch.zeros(64, 1, device="cuda")

    @torch.no_grad()
    def score(self):
        return huber(self.net(self.x) - self.y).mean()

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.score()
        torch.cuda.current_stream().wait_stream(s)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.value = self.score()

    def __call__(self, x, y):
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.value.item()
