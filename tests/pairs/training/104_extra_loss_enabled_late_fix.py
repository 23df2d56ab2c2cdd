"""Near the end of training the detection head adds a second loss term: the epoch hook sets a flag on the
head, but the captured step never runs that branch. (Seen in LibreYOLO/libreyolo#716.)"""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.box = nn.Linear(width, 4)
        self.use_l1 = False

    def forward(self, x):
        return self.box(x)

    def loss(self, x, target):
        pred = self(x)
        total = nn.functional.smooth_l1_loss(pred.sigmoid(), target)
        if self.use_l1:
            total = total + (pred - target.logit(eps=1e-4)).abs().mean()
        return total


class Detector(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(width, width), nn.SiLU())
        self.head = Head(width)

    def forward(self, images, boxes):
        return self.head.loss(self.trunk(images), boxes)


class BaseTrainer:
    def __init__(self, model, batch, width, epochs, quiet=5):
        self.model, self.epochs, self.quiet = model, epochs, quiet
        self.images = torch.zeros(batch, width, device="cuda")
        self.boxes = torch.zeros(batch, 4, device="cuda")
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        self.graph = None

    def on_epoch(self, epoch):
        pass

    def _update(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.model(self.images, self.boxes)
        loss.backward()
        self.opt.step()
        return loss

    def _record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._update()

    def fit(self, loader):
        for epoch in range(self.epochs):
            self.on_epoch(epoch)
            for images, boxes in loader:
                self.images.copy_(images)
                self.boxes.copy_(boxes)
                if self.graph is None:
                    self._record()
                self.graph.replay()


class MosaicTrainer(BaseTrainer):
    def on_epoch(self, epoch):
        if epoch == self.epochs - self.quiet:
            self.model.head.use_l1 = True
            self.graph = None


def main(loader):
    MosaicTrainer(Detector(32).cuda(), 8, 32, 100).fit(loader)
