"""An evaluator copies the averaged weights on a stream of its own, right after a replay that updates them; the
stream does not wait for the replay."""

import torch
from torch import nn


class Snapshot:
    def __init__(self, tensors):
        self.source = list(tensors)
        self.copies = [torch.empty_like(t) for t in self.source]
        self.stream = torch.cuda.Stream()

    def take(self):
        with torch.cuda.stream(self.stream):
            for copy, source in zip(self.copies, self.source, strict=True):
                copy.copy_(source, non_blocking=True)  # HAZARD: stream-escape, other
        return self.copies


class Trainer:
    def __init__(self, net, shape):
        self.net, self.x = net, torch.zeros(shape, device="cuda")
        self.slow = [p.detach().clone() for p in net.parameters()]
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graph = torch.cuda.CUDAGraph()

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for slow, p in zip(self.slow, self.net.parameters(), strict=True):
                slow.lerp_(p, 0.01)

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self._step()

    def fit(self, loader, evaluate, every=10):
        snapshot = Snapshot(self.slow)
        for index, x in enumerate(loader):
            self.x.copy_(x)
            self.graph.replay()  # ALT: stream-escape, other
            if index % every == 0:
                evaluate(snapshot.take())


def main(loader, evaluate):
    trainer = Trainer(nn.Linear(8, 8).cuda(), (4, 8))
    trainer.capture()
    trainer.fit(loader, evaluate)
