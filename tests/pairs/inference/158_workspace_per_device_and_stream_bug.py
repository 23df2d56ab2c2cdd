"""Drawn from split-k kernels whose locks are kept per device and stream (as in sglang's and flashinfer's wrappers).

Symptom: the capture runs on a stream of its own, for which there is no workspace yet; it is allocated and
zeroed inside the first graph, and later graphs and eager calls on that stream find it dirty.
"""

import functools

import torch


def with_workspace(size: int):
    def decorate(kernel):
        table: dict[tuple[int, int], torch.Tensor] = {}

        @functools.wraps(kernel)
        def call(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            key = (x.device.index, torch.cuda.current_stream().cuda_stream)
            space = table.get(key)
            if space is None:
                space = table[key] = torch.zeros(
                    size, dtype=torch.int32, device=x.device
                )  # HAZARD: alloc-in-capture
            return kernel(x, w, space)

        return call

    return decorate


@with_workspace(size=256)
def split_matmul(x: torch.Tensor, w: torch.Tensor, locks: torch.Tensor) -> torch.Tensor:
    y = x @ w
    locks[: y.shape[0]].add_(1)
    return y + locks[: y.shape[0], None] * 0


class Runner:
    def __init__(self, w: torch.Tensor, batch: int):
        self.w = w
        self.x = torch.zeros(batch, w.shape[0], device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            split_matmul(self.x, self.w)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = split_matmul(self.x, self.w)

    @torch.inference_mode()
    def run(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    @torch.inference_mode()
    def eager(self, x: torch.Tensor) -> torch.Tensor:
        return split_matmul(x, self.w)


def build(width: int, batch: int) -> Runner:
    return Runner(torch.randn(width, width, device="cuda"), batch)
