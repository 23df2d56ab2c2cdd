"""Forward and backward are captured, the optimizer runs eagerly. A hook of the loop clears the gradients in
place, so each parameter keeps the tensor that the graph writes."""

import torch
from torch import nn


class GraphedLoss:
    def __init__(self, net: nn.Module, shape):
        self.net = net
        self.batch = torch.zeros(shape, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.net.zero_grad()
                self._forward_backward()
        torch.cuda.current_stream().wait_stream(side)
        self.net.zero_grad()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.value = self._forward_backward()

    def _forward_backward(self):
        loss = self.net(self.batch).mean()
        loss.backward()
        return loss

    def __call__(self, batch):
        self.batch.copy_(batch)
        self.graph.replay()
        return self.value


class Loop:
    def __init__(self, net, shape):
        self.loss = GraphedLoss(net, shape)
        self.optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
        self.hooks = {"before_batch": [self._clear], "after_batch": [self._update]}

    def _clear(self):
        self.optimizer.zero_grad(set_to_none=False)

    def _update(self):
        self.optimizer.step()

    def _fire(self, name):
        for hook in self.hooks[name]:
            hook()

    def run(self, loader):
        for batch in loader:
            self._fire("before_batch")
            self.loss(batch)
            self._fire("after_batch")


def main(loader):
    Loop(nn.Linear(8, 1).cuda(), (4, 8)).run(loader)
