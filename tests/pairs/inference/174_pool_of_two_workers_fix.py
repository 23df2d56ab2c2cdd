"""Both workers capture on the stream that torch keeps for captures."""

import torch
import torch.nn as nn


class SharedPool:
    _handle = None

    @classmethod
    def get(cls):
        if cls._handle is None:
            cls._handle = torch.cuda.graph_pool_handle()
        return cls._handle


class GraphWorker:
    def __init__(self, model: nn.Module, batch: int, width: int):
        self.model = model
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, pool=SharedPool.get()):
            self.y = self.model(self.x)

    def run(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


class Speculator:
    def __init__(self, draft: nn.Module, target: nn.Module, batch: int, width: int):
        self.draft = GraphWorker(draft, batch, width)
        self.target = GraphWorker(target, batch, width)

    def warm_up(self) -> None:
        self.target.capture()
        self.draft.capture()

    def step(self, x: torch.Tensor) -> torch.Tensor:
        guess = self.draft.run(x)
        return self.target.run(guess)
