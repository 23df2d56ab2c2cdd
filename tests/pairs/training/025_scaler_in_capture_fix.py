"""Mixed precision with a GradScaler: the captured iteration ends with the backward; unscaling and stepping
follow the replay."""

import torch
from torch import nn


class AmpLoop:
    def __init__(self, net, batch, dim):
        self.net = net
        self.x = torch.zeros(batch, dim, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")
        self.graph = torch.cuda.CUDAGraph()

    def forward_backward(self):
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
            loss = self.net(self.x).float().square().mean()
        self.scaler.scale(loss).backward()
        return loss

    def update(self):
        self.scaler.step(self.opt)
        self.scaler.update()

    def warm_up(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.opt.zero_grad(set_to_none=True)
                self.forward_backward()
                self.update()
        torch.cuda.current_stream().wait_stream(side)

    def capture(self):
        self.warm_up()
        self.opt.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = self.forward_backward()

    def fit(self, loader):
        self.capture()
        for batch in loader:
            self.x.copy_(batch)
            self.graph.replay()
            self.update()


def main(loader):
    AmpLoop(nn.Linear(8, 8).cuda(), 4, 8).fit(loader)
