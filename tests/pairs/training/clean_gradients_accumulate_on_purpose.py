"""Clean: one graph per micro batch position adds to gradient buffers that are zeroed in place between steps; the
optimizer is eager and its rate comes from a scheduler."""

import torch
from torch import nn


class Accumulating:
    def __init__(self, net, shape, parts):
        self.net, self.parts = net, parts
        self.x = torch.zeros(shape, device="cuda")
        self.total = torch.zeros((), device="cuda")
        for p in net.parameters():
            p.grad = torch.zeros_like(p)
        self.graph = torch.cuda.CUDAGraph()

    def _part(self):
        loss = self.net(self.x).square().mean() / self.parts
        loss.backward()
        self.total.add_(loss.detach())

    def zero(self):
        self.net.zero_grad(set_to_none=False)
        self.total.zero_()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._part()
        torch.cuda.current_stream().wait_stream(side)
        self.zero()
        with torch.cuda.graph(self.graph):
            self._part()
        self.zero()

    def step(self, batches):
        for x in batches:
            self.x.copy_(x)
            self.graph.replay()


def main(loader, epochs):
    net = nn.Linear(16, 16).cuda()
    run = Accumulating(net, (8, 16), 4)
    run.capture()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        for batches in loader:
            run.step(batches)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            if epoch % 10 == 0:
                print(epoch, run.total.item())
            run.zero()
        schedule.step()
