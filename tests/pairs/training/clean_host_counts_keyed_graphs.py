"""Clean: the number of gradient steps of an update is a Python loop in captured code and part of the key under which
the graph is kept; the data are sampled on the device, bounded by a device tensor."""

import torch
from torch import nn


class Memory:
    def __init__(self, capacity, width):
        self.data = torch.zeros(capacity, width, device="cuda")
        self.filled = torch.zeros((), device="cuda")
        self.at, self.capacity = 0, capacity

    def push(self, rows):
        where = torch.arange(self.at, self.at + rows.shape[0], device="cuda") % self.capacity
        self.data.index_copy_(0, where, rows)
        self.at += rows.shape[0]
        self.filled.fill_(min(self.at, self.capacity))

    def draw(self, count):
        rows = (torch.rand(count, device="cuda") * self.filled).long()
        return self.data.index_select(0, rows)


class Updates:
    def __init__(self, net, memory, batch):
        self.net, self.memory, self.batch = net, memory, batch
        self.opt = torch.optim.SGD(net.parameters(), lr=0.01)
        self.graphs = {}

    def _run(self, steps):
        for _ in range(steps):
            self.opt.zero_grad(set_to_none=True)
            loss = self.net(self.memory.draw(self.batch)).square().mean()
            loss.backward()
            self.opt.step()
        return loss.detach()

    def _capture(self, steps):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._run(steps)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self._run(steps)
        return graph, loss

    def __call__(self, steps):
        key = (steps, self.batch)
        if key not in self.graphs:
            self.graphs[key] = self._capture(steps)
        graph, loss = self.graphs[key]
        graph.replay()
        return loss.clone()


def main(env, rounds):
    memory = Memory(10_000, 8)
    update = Updates(nn.Linear(8, 1).cuda(), memory, 64)
    losses = []
    for index in range(rounds):
        memory.push(env.step())
        losses.append(update(2 if index < 100 else 4))
    return torch.stack(losses).mean().item()
