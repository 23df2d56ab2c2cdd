"""Engines that replay on a stream of their own."""

import torch
from readers import Reader, best


class Engine:
    def __init__(self, width: int):
        self.run = torch.cuda.Stream()
        self.ready = torch.cuda.Event()
        self.reader = Reader(self.run)
        self.x = torch.zeros(width, device="cuda")
        self.host = torch.zeros(width, pin_memory=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = self.x * 2

    def replay(self, x: torch.Tensor):
        self.x.copy_(x)
        self.run.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.run):
            self.graph.replay()

    def step(self, x: torch.Tensor):
        self.replay(x)
        return best(self.logits)

    def step_in_order(self, x: torch.Tensor):
        self.replay(x)
        return self.reader.read(self.logits)

    def step_to_host(self, x: torch.Tensor):
        self.replay(x)
        self.host.copy_(self.logits)  # expect: CG202
        return self.host.tolist()

    def step_with_event(self, x: torch.Tensor):
        self.replay(x)
        self.ready.record(self.run)
        self.ready.wait()
        return self.logits.clone()  # ok: CG202

    def step_with_wrong_event(self, x: torch.Tensor):
        self.replay(x)
        self.ready.record()
        self.ready.synchronize()
        return self.logits.clone()  # expect: CG202

    def step_inside(self, x: torch.Tensor):
        self.replay(x)
        with torch.cuda.stream(self.run):
            return self.logits.sum().item()  # ok: CG202
