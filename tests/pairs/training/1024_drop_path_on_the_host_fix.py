"""Source: rwightman style stochastic depth in a captured image trainer.

Fixed: the branch is multiplied by a draw made on the device.
"""

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, inner: nn.Module, drop):
        super().__init__()
        self.inner, self.drop = inner, drop

    def forward(self, x):
        y = self.inner(x)
        if self.training and self.drop > 0:
            y = y * (torch.rand((), device=x.device) >= self.drop)
        return x + y


def build(depth, d, drop=0.2):
    rates = [drop * i / max(depth - 1, 1) for i in range(depth)]
    return nn.Sequential(*(Residual(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d)), r) for r in rates))


class Trainer:
    def __init__(self, depth=12, d=128, batch=64):
        self.net = build(depth, d).cuda().train()
        self.x = torch.zeros(batch, d, device="cuda")
        self.y = torch.zeros(batch, d, device="cuda")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.stream = torch.cuda.Stream()

    def fwd_bwd(self):
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.net(self.x), self.y)
        loss.backward()
        return loss

    def capture(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self.fwd_bwd()
        torch.cuda.current_stream().wait_stream(self.stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.loss = self.fwd_bwd()

    def step(self, x, y):
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        self.opt.step()
