"""A probe registers a forward hook on a layer of a network whose forward is replayed: replays do not run Python,
and the probe keeps what the capture, or nothing, has left it."""

import torch
from torch import nn


class Probe:
    def __init__(self):
        self.values = []

    @torch.no_grad()
    def look(self, module, x):
        self.values.append(module(x).abs().mean())

    def mean(self):
        return torch.stack(self.values).mean().item()


class Classifier(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk, self.head = nn.Linear(width, width), nn.Linear(width, 10)

    def forward(self, x):
        return self.head(torch.relu(self.trunk(x)))


class Replayed:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def _step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.loss.clone()


def main(loader):
    net = Classifier(16).cuda()
    step = Replayed(net, (4, 16))
    probe = Probe()
    for x in loader:
        step(x)
        probe.look(net.trunk, step.x)
    return probe.mean()
