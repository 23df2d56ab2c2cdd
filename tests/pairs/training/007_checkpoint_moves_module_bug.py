"""Saving a checkpoint moves the model to the host and back, which gives every parameter new memory; the
graph goes on training on the old one."""

import io

import torch
from torch import nn


def serialize(model):
    buffer = io.BytesIO()
    model.cpu()  # HAZARD: stale-pointer
    torch.save(model.state_dict(), buffer)
    model.cuda()  # ALT: stale-pointer
    return buffer.getvalue()


class CheckpointedTrainer:
    def __init__(self, model, rows, width, every=100):
        self.model = model.cuda()
        self.data = torch.zeros(rows, width, device="cuda")
        self.every = every
        self.saved = []
        self.graph = torch.cuda.CUDAGraph()

    def _grads(self):
        self.model.zero_grad(set_to_none=True)
        self.model(self.data).square().sum().backward()

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self._grads()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self._grads()

    def fit(self, loader):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.capture()
        for index, batch in enumerate(loader):
            self.data.copy_(batch)
            self.graph.replay()
            optimizer.step()
            if index % self.every == 0:
                self.saved.append(serialize(self.model))


def main(loader):
    CheckpointedTrainer(nn.Linear(16, 4), 32, 16).fit(loader)
