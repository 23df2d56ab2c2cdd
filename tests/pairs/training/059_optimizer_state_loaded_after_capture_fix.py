"""Rolling back restores weights and optimizer; the moments are copied into the tensors that the captured
update uses."""

import copy

import torch
from torch import nn


class Trainer:
    def __init__(self, net, shape):
        self.net = net
        self.x = torch.zeros(shape, device="cuda")
        self.opt = torch.optim.AdamW(net.parameters(), lr=torch.tensor(1e-3, device="cuda"), capturable=True)
        self.graph = torch.cuda.CUDAGraph()
        self.saved = None

    def update(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.update()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.update()

    def checkpoint(self):
        self.saved = copy.deepcopy((self.net.state_dict(), self.opt.state_dict()))

    def rollback(self):
        weights, state = self.saved
        self.net.load_state_dict(weights)
        held = self.opt.state_dict()["state"]
        for key, entry in state["state"].items():
            for name, value in entry.items():
                held[key][name].copy_(value)


def fit(loader):
    trainer = Trainer(nn.Linear(8, 8).cuda(), (4, 8))
    trainer.capture()
    trainer.checkpoint()
    for i, x in enumerate(loader):
        trainer.x.copy_(x)
        trainer.graph.replay()
        if i % 100 == 99:
            if trainer.loss.item() > 10.0:
                trainer.rollback()
            else:
                trainer.checkpoint()
