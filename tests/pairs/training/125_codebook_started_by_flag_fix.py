"""A vector quantizer fills its codebook from the first batch. Whether it has done so is a buffer on the
device, and the test of it is part of every captured forward."""

import torch
from torch import nn


class Codebook(nn.Module):
    def __init__(self, size, dim, decay=0.99):
        super().__init__()
        self.decay = decay
        self.started = False
        self.register_buffer("usage", torch.zeros(size))
        self.register_buffer("codes", torch.zeros(size, dim))

    @torch.no_grad()
    def start(self, x):
        if self.started:
            return
        self.codes.copy_(x[: self.codes.shape[0]])
        self.started = True

    def nearest(self, x):
        return torch.cdist(x, self.codes).argmin(-1)

    @torch.no_grad()
    def follow(self, x, ids):
        onehot = nn.functional.one_hot(ids, self.codes.shape[0]).to(x.dtype)
        self.usage.lerp_(onehot.sum(0), 1.0 - self.decay)
        means = (onehot.T @ x) / onehot.sum(0).clamp(min=1.0).unsqueeze(-1)
        self.codes.lerp_(means, 1.0 - self.decay)

    def forward(self, x):
        self.start(x)
        ids = self.nearest(x)
        quantized = self.codes[ids]
        if self.training:
            self.follow(x, ids)
        return x + (quantized - x).detach(), (quantized.detach() - x).square().mean()


class AutoEncoder(nn.Module):
    def __init__(self, width, dim, size):
        super().__init__()
        self.enc, self.dec = nn.Linear(width, dim), nn.Linear(dim, width)
        self.codebook = Codebook(size, dim)

    def forward(self, x):
        z, commit = self.codebook(self.enc(x))
        return (self.dec(z) - x).square().mean() + 0.25 * commit


class Training:
    def __init__(self, net, batch, width):
        self.net, self.x = net, torch.zeros(batch, width, device="cuda")
        self.opt = torch.optim.SGD(net.parameters(), lr=0.01)

    def iteration(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x)
        loss.backward()
        self.opt.step()
        return loss

    def capture(self, first):
        self.x.copy_(first)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.iteration()


def main(loader):
    run = Training(AutoEncoder(64, 8, 32).cuda(), 256, 64)
    run.capture(next(iter(loader)))
    for x in loader:
        run.x.copy_(x)
        run.graph.replay()
