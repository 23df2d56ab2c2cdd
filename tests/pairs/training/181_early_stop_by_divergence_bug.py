"""All epochs of a policy update are one captured function, which leaves its loop when the new policy has moved too
far: a test of a device value."""

import torch
from torch import nn


class Surrogate:
    def __init__(self, clip=0.2):
        self.clip = clip

    def __call__(self, ratio, advantage):
        bounded = ratio.clamp(1.0 - self.clip, 1.0 + self.clip)
        return -torch.minimum(ratio * advantage, bounded * advantage).mean()


class Update:
    def __init__(self, net, size, obs, limit=0.015, epochs=4):
        self.net, self.loss_fn = net, Surrogate()
        self.limit, self.epochs = limit, epochs
        self.obs, self.old = torch.zeros(size, obs, device="cuda"), torch.zeros(size, 1, device="cuda")
        self.adv = torch.zeros(size, 1, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=1e-3)

    def _epoch(self):
        log_ratio = self.net(self.obs) - self.old
        loss = self.loss_fn(log_ratio.exp(), self.adv)
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            return (log_ratio.exp() - 1.0 - log_ratio).mean()

    def run(self):
        for _ in range(self.epochs):
            moved = self._epoch()
            if self.limit is not None and moved > 1.5 * self.limit:  # HAZARD: host-branch-on-device
                break
        return moved

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.moved = self.run()


def main():
    update = Update(nn.Linear(8, 1).cuda(), 512, 8)
    update.capture()
    return update
