"""A captured training step whose model is changed between epochs."""

import torch
from torch import nn
from watching import watch, watch_briefly


class Net(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.body, self.head = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


class Trainer:
    def __init__(self, width: int):
        self.net = Net(width).cuda()
        self.other = Net(width).cuda()
        self.x = torch.zeros(8, width, device="cuda")
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.seen: list = []
        self.graph = None

    def body(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.net(self.x).mean().backward()
        self.optimizer.step()

    def step(self):
        if self.graph is None:
            self.body()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.body()
        self.graph.replay()

    def freeze_body(self):
        self.net.body.requires_grad_(False)  # expect: CG406

    def freeze_bias(self):
        self.net.head.bias.requires_grad = False  # expect: CG406

    def freeze_and_capture(self):
        self.net.body.weight.requires_grad = False  # ok: CG406
        self.graph = None

    def freeze_other(self):
        self.other.requires_grad_(False)  # ok: CG406
        self.other.register_forward_hook(lambda module, given, out: None)  # ok: CG406


def fit(epochs: int):
    trainer = Trainer(8)
    for _ in range(epochs):
        trainer.step()
        watch(trainer.net.body, trainer.seen)


def fit_briefly(epochs: int):
    trainer = Trainer(8)
    for _ in range(epochs):
        trainer.step()
        watch_briefly(trainer.net.body, trainer.seen)


def fit_frozen(epochs: int):
    trainer = Trainer(8)
    for epoch in range(epochs):
        trainer.step()
        if epoch == 3:
            trainer.freeze_body()
        trainer.freeze_other()


def fit_frozen_bias(epochs: int):
    trainer = Trainer(8)
    for _ in range(epochs):
        trainer.step()
        trainer.freeze_bias()


def fit_anew(epochs: int):
    trainer = Trainer(8)
    for _ in range(epochs):
        trainer.step()
        trainer.freeze_and_capture()
