"""Other optimizers that count on the host."""

import torch
from torch import nn


class Step:
    def __init__(self, net: nn.Module, optimizer: torch.optim.Optimizer):
        self.net, self.optimizer = net, optimizer
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)

    def __call__(self):
        loss = self.net(self.x).mean()
        loss.backward()
        self.optimizer.step()  # expect: CG804
        return loss

    def record(self):
        with torch.cuda.graph(self.graph):  # expect: CG701
            self.loss = self()


def rms(net: nn.Module):
    step = Step(net, torch.optim.RMSprop(net.parameters(), lr=1e-3))
    step.record()
    step.graph.replay()


class Pair:
    def __init__(self, width: int):
        self.net = nn.Linear(width, width).cuda()
        weights = list(self.net.parameters())
        self.fast, self.slow = torch.optim.NAdam(weights[:1]), torch.optim.Adamax(weights[1:])
        self.flat = torch.optim.Adagrad(weights)
        self.x = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):  # expect: CG701
            self.net(self.x).mean().backward()
            self.fast.step()  # expect: CG804
            self.slow.step()  # expect: CG804
            self.flat.step()  # ok: CG804

    def run(self):
        self.graph.replay()


def delta(net: nn.Module, x: torch.Tensor):
    optimizer = torch.optim.Adadelta(net.parameters(), capturable=False)
    radam = torch.optim.RAdam(net.parameters())
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG701
        net(x).mean().backward()
        optimizer.step()  # expect: CG804
        radam.step()  # graphlint: ignore[CG804] -- the test asserts the message
    graph.replay()
