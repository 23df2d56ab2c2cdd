import torch
import triton
import triton.language as tl


@triton.jit
def kernel(source, target, limit, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < limit) * 2, mask=at < limit)


class Runner:
    def __init__(self):
        self.limit = 64
        self.x = torch.zeros(64, device="cuda")
        self.y = torch.zeros(64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            kernel[(self.limit // 16,)](self.x, self.y, 64, BLOCK=16)  # expect: CG402

    def step(self, x: torch.Tensor):
        self.limit = x.shape[0]
        self.x[: self.limit].copy_(x)
        self.graph.replay()
        return self.y[: self.limit].clone()
