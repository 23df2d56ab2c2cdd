"""Fixed form: the tensor is made once by the constructor."""

import torch
import torch.nn as nn


class StopMask(nn.Module):
    def __init__(self, stop_ids: list[int], vocab: int):
        super().__init__()
        self.register_buffer("stops", torch.tensor(stop_ids))

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.index_fill(-1, self.stops, float("-inf"))


def head_factory(kind: str, vocab: int, stop_ids: list[int]):
    if kind == "open":
        return nn.Identity()
    return StopMask(stop_ids, vocab)


class CodecStep(nn.Module):
    def __init__(self, width: int, vocab: int, kind: str = "masked"):
        super().__init__()
        self.out = nn.Linear(width, vocab)
        self.mask = head_factory(kind, vocab, [vocab - 1, vocab - 2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mask(self.out(x)).argmax(-1)


class CodecGraphs:
    def __init__(self, width: int, vocab: int, sizes: list[int]):
        self.step = CodecStep(width, vocab).cuda()
        self.static = {n: torch.zeros(n, width, device="cuda") for n in sorted(sizes, reverse=True)}
        self.graphed = {}

    @torch.inference_mode()
    def capture(self) -> None:
        for n, x in self.static.items():
            for _ in range(2):
                self.step(x)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = self.step(x)
            self.graphed[n] = (graph, y)
