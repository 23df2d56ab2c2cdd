"""One graph for a decode step of a language model."""

import torch
from buffers import StaticInputs


class DecodeRunner:
    def __init__(self, model: torch.nn.Module, batch: int):
        self.model = model
        self.inputs = StaticInputs(batch)
        self.slots = torch.arange(batch, device="cuda")
        self.bias = torch.zeros(batch, 32000, device="cuda")
        self.bias = self.bias - 1.0  # ok: CG101
        self.finished = torch.zeros(batch, dtype=torch.bool, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def forward(self):
        hidden = self.model(self.inputs.tokens, self.inputs.positions, self.inputs.lengths, self.slots)
        return hidden + self.bias

    def capture(self):
        self.forward()
        with torch.cuda.graph(self.graph):
            self.logits = self.forward()

    def step(self, tokens, positions, requests, order: torch.Tensor):
        self.inputs.load(tokens, positions, requests)
        self.slots = self.slots[order]  # expect: CG101
        self.finished = self.finished | (tokens == 2)  # ok: CG101
        self.graph.replay()
        return self.logits.clone()

    def forbid(self, words):
        self.bias = torch.zeros_like(self.bias).index_fill_(1, words, -1e9)  # ok: CG101
        self.graph = torch.cuda.CUDAGraph()
        self.capture()


def serve(model: torch.nn.Module, scheduler):
    runner = DecodeRunner(model, 32)
    runner.capture()
    while scheduler.has_work():
        tokens, positions, requests, order = scheduler.take()
        scheduler.put(runner.step(tokens, positions, requests, order))
        if scheduler.forbidden is not None:
            runner.forbid(scheduler.forbidden)
