"""Fixed form: the step copies into the metadata that the context holds for good."""

import torch
import torch.nn as nn

_CONTEXT = None


class BatchContext:
    def __init__(self, slots: torch.Tensor, lens: torch.Tensor):
        self.slots, self.lens = slots, lens


def set_context(context: BatchContext) -> None:
    global _CONTEXT
    _CONTEXT = context


def get_context() -> BatchContext:
    assert _CONTEXT is not None, "no forward context"
    return _CONTEXT


class StateLayer(nn.Module):
    def __init__(self, slots: int, width: int):
        super().__init__()
        self.register_buffer("state", torch.zeros(slots, width))
        self.lin = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        context = get_context()
        return self.lin(x) + self.state[context.slots]


class Engine:
    def __init__(self, slots: int, width: int, batch: int):
        self.layer = StateLayer(slots, width).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        zeros = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.static = BatchContext(zeros, zeros + 1)
        self.graph = torch.cuda.CUDAGraph()
        self.record()

    @torch.inference_mode()
    def record(self) -> None:
        set_context(self.static)
        for _ in range(2):
            self.layer(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.layer(self.x)

    def step(self, x: torch.Tensor, slots: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        self.static.slots.copy_(slots)
        self.static.lens.copy_(lens)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
