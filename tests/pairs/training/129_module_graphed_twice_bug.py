"""When the image size changes, the trainer graphs the network once more. The first call has replaced the
forward of the module, so that the second one captures the replay of the first graph. (Seen in
LibreYOLO/libreyolo#716.)"""

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 4, 1))

    def forward(self, images):
        return self.body(images).mean((-1, -2))


class GraphManager:
    def __init__(self, network):
        self.network = network
        self.graphed, self.size = None, None

    def invalidate(self):
        self.graphed = None

    def __call__(self, images):
        if self.size != images.shape[-1]:
            self.invalidate()
        if self.graphed is None:
            sample = (torch.zeros_like(images),)
            self.graphed = torch.cuda.make_graphed_callables(self.network, sample)  # HAZARD: other
            self.size = images.shape[-1]
        return self.graphed(images)


class Trainer:
    def __init__(self, network):
        self.network, self.manager = network, GraphManager(network)
        self.opt = torch.optim.SGD(network.parameters(), lr=0.01)

    def step(self, images, target):
        self.opt.zero_grad()
        loss = (self.manager(images) - target).square().mean()
        loss.backward()
        self.opt.step()
        return loss.detach()

    def fit(self, loaders):
        for loader in loaders:
            for images, target in loader:
                self.step(images.cuda(), target.cuda())


def main(small, large):
    Trainer(Backbone(16).cuda()).fit([small, large])
