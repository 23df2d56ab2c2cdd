"""Clean: what may fail is tried eagerly before the capture, a failing capture ends the run, random numbers come from a
registered generator, and the compiled loss is warm before it is captured."""

import torch
from torch import nn


@torch.compile
def weighted(pred, target, weight):
    return ((pred - target).square() * weight).mean()


class Prepared:
    def __init__(self, net, shape, seed=0):
        self.net = net
        self.rng = torch.Generator(device="cuda").manual_seed(seed)
        self.x, self.y = torch.zeros(shape, device="cuda"), torch.zeros(shape, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.rng)

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        weight = torch.rand(self.x.shape[0], 1, device="cuda", generator=self.rng)
        loss = weighted(self.net(self.x), self.y, weight)
        loss.backward()
        self.opt.step()
        return loss.detach()

    def is_supported(self):
        try:
            self._step()
        except RuntimeError:
            return False
        return True

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    def fit(self, loader):
        history = []
        for x, y in loader:
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
            history.append(self.loss.item())
        return history


def main(loader):
    run = Prepared(nn.Linear(8, 8).cuda(), (4, 8))
    if not run.is_supported():
        raise SystemExit("no CUDA graphs for this model")
    run.capture()
    return run.fit(loader)
