"""Clean: two graphs, one for each of two workspaces; the host takes turns between them."""

import torch
import torch.nn as nn


class Turn:
    def __init__(self, model: nn.Module, batch: int, width: int, pool):
        self.x = torch.zeros(batch, width, device="cuda")
        self.space = torch.zeros(batch, width, device="cuda")
        self.read = torch.cuda.Event()
        for _ in range(2):
            self.space.copy_(model(self.x))
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.space.copy_(model(self.x))


class PingPong:
    def __init__(self, model: nn.Module, batch: int, width: int):
        self.side = torch.cuda.Stream()
        self.host = torch.zeros(2, batch, width, pin_memory=True)
        with torch.inference_mode():
            first = Turn(model, batch, width, None)
            second = Turn(model, batch, width, first.graph.pool())
        self.turns = (first, second)
        self.index = 0

    @torch.inference_mode()
    def submit(self, x: torch.Tensor) -> int:
        index = self.index
        turn = self.turns[index]
        main = torch.cuda.current_stream()
        main.wait_event(turn.read)
        turn.x.copy_(x)
        turn.graph.replay()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            self.host[index].copy_(turn.space, non_blocking=True)
            turn.read.record()
        self.index = 1 - index
        return index

    def collect(self, index: int) -> torch.Tensor:
        self.turns[index].read.synchronize()
        return self.host[index].clone()
