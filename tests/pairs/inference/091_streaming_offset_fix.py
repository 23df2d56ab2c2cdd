"""Fixed form: the position is a tensor that the captured frame advances."""

from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class StreamState:
    offset: torch.Tensor


class StreamingModule(nn.Module):
    def __init__(self):
        super().__init__()
        self._state: StreamState | None = None

    @contextmanager
    def streaming(self):
        for module in self.modules():
            if isinstance(module, StreamingModule):
                module._state = StreamState(torch.zeros(1, dtype=torch.long, device="cuda"))
        yield
        for module in self.modules():
            if isinstance(module, StreamingModule):
                module._state = None


class StreamingBlock(StreamingModule):
    def __init__(self, width: int):
        super().__init__()
        self.lin = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = self._state
        angle = torch.arange(x.shape[1], device=x.device) + state.offset
        y = self.lin(x * torch.cos(angle)[None, :, None])
        state.offset.add_(x.shape[1])
        return y


class StreamingTransformer(StreamingModule):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.blocks = nn.ModuleList(StreamingBlock(width) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + block(x)
        return x


class Graphed:
    def __init__(self, fn, warmup: int = 2):
        self.fn, self.warmup = fn, warmup
        self.graph = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self.graph is None:
            self.x = x.clone()
            for _ in range(self.warmup):
                self.fn(self.x)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.fn(self.x)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


@torch.inference_mode()
def generate(net: StreamingTransformer, frames: list[torch.Tensor]) -> torch.Tensor:
    net = net.cuda().eval()
    with net.streaming():
        step = Graphed(net)
        return torch.cat([step(frame.cuda()) for frame in frames], dim=1)
