"""The first call of the convolution stack happens inside the capture."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.stack = nn.Sequential(nn.Conv2d(3, channels, 3), nn.ReLU(), nn.Conv2d(channels, channels, 3))

    def forward(self, x):
        return self.stack(x).mean((2, 3))


class Step:
    def __init__(self, encoder, size):
        self.encoder = encoder
        self.images = torch.zeros(8, 3, size, size, device="cuda")
        self.opt = torch.optim.SGD(encoder.parameters(), lr=0.1)

    def run(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.encoder(self.images).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # HAZARD: missing-warmup
            self.loss = self.run()  # ALT: missing-warmup

    def __call__(self, images):
        self.images.copy_(images)
        self.graph.replay()


def main(loader):
    step = Step(Encoder(16).cuda(), 64)
    step.capture()
    for images in loader:
        step(images)
