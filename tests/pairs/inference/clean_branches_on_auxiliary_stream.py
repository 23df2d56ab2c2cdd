"""Source pattern: shared expert on an auxiliary stream, launch sizes from the configuration.

Clean: the auxiliary stream is forked from and joined to the capturing one through events, the grid
is that of the largest context, lengths are read by the kernel, and the debug dump stays outside.
"""

import os
from collections.abc import Callable

import torch
import torch.nn as nn
import triton
import triton.language as tl

DEBUG_DIR = os.environ.get("KERNEL_DEBUG_DIR", "")


@triton.jit
def _masked_sum(values, lens, out, width, block: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    cols = part * block + tl.arange(0, block)
    live = cols < tl.minimum(tl.load(lens + row), width)
    tl.atomic_add(out + row, tl.sum(tl.load(values + row * width + cols, mask=live, other=0.0)))


def in_parallel(
    first: Callable, second: Callable, aux: torch.cuda.Stream, fork: torch.cuda.Event, join: torch.cuda.Event
):
    fork.record()
    left = first()
    with torch.cuda.stream(aux):
        fork.wait()
        right = second()
        join.record()
    join.wait()
    return left, right


def dump(name: str, value: torch.Tensor) -> None:
    if not DEBUG_DIR or torch.cuda.is_current_stream_capturing():
        return
    torch.save(value.cpu(), os.path.join(DEBUG_DIR, f"{name}.pt"))


class Block(nn.Module):
    def __init__(self, width: int, aux: torch.cuda.Stream):
        super().__init__()
        self.routed, self.shared = nn.Linear(width, width), nn.Linear(width, width)
        self.aux = aux
        self.fork, self.join = torch.cuda.Event(), torch.cuda.Event()

    def forward(self, x: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        routed, shared = in_parallel(
            lambda: self.routed(x), lambda: self.shared(x), self.aux, self.fork, self.join
        )
        total = torch.zeros(x.shape[0], device=x.device)
        _masked_sum[(x.shape[0], triton.cdiv(x.shape[1], 128))](x, lens, total, x.shape[1], 128)
        dump("routed", routed)
        return routed + shared + total[:, None]


class Engine:
    def __init__(self, layers: int, width: int, batch: int):
        aux = torch.cuda.Stream()
        self.blocks = nn.ModuleList(Block(width, aux) for _ in range(layers)).cuda().eval()
        self.x = torch.zeros(batch, width, device="cuda")
        self.lens = torch.ones(batch, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _forward(self) -> torch.Tensor:
        h = self.x
        for block in self.blocks:
            h = block(h, self.lens)
        return h

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._forward()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self._forward()

    def run(self, x: torch.Tensor, lens: list[int]) -> torch.Tensor:
        self.x.copy_(x)
        self.lens.copy_(torch.tensor(lens, dtype=torch.int32))
        self.graph.replay()
        return self.y.clone()

    def close(self) -> None:
        torch.cuda.synchronize()
        self.graph.reset()
