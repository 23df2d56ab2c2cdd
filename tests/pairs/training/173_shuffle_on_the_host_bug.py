"""All mini batches of an update are captured in one graph. Their rows come from a permutation that is drawn on the
host and indexed on the device."""

import torch
from torch import nn


class RolloutData:
    def __init__(self, rows, obs, act):
        self.rows = rows
        self.obs = torch.zeros(rows, obs, device="cuda")
        self.act = torch.zeros(rows, act, device="cuda")
        self.adv = torch.zeros(rows, 1, device="cuda")

    def mini_batches(self, count):
        size = self.rows // count
        order = torch.randperm(self.rows)
        for start in range(0, self.rows, size):
            rows = order[start : start + size]
            yield self.obs[rows], self.act[rows], self.adv[rows]  # HAZARD: pageable-copy


class PolicyUpdate:
    def __init__(self, net, data, epochs=2, count=4):
        self.net, self.data, self.epochs, self.count = net, data, epochs, count
        self.opt = torch.optim.Adam(net.parameters(), lr=3e-4, capturable=True)
        self.graph = None

    def _update(self):
        for _ in range(self.epochs):
            for obs, act, adv in self.data.mini_batches(self.count):
                self.opt.zero_grad(set_to_none=True)
                loss = ((self.net(obs) - act).square() * adv).mean()
                loss.backward()
                self.opt.step()

    def __call__(self):
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._update()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self._update()
        self.graph.replay()


def main(collect, iterations):
    data = RolloutData(4096, 8, 2)
    update = PolicyUpdate(nn.Linear(8, 2).cuda(), data)
    for _ in range(iterations):
        collect(data)
        update()
