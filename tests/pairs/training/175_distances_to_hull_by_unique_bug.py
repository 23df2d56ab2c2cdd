"""A triplet loss takes the centre of each class that occurs. The classes come from `unique`, called by a helper that
a partial binds into the criterion."""

from functools import partial

import torch
from torch import nn


def centres(features, labels):
    present, inverse = torch.unique(labels, return_inverse=True)  # HAZARD: dynamic-shape
    sums = features.new_zeros(present.shape[0], features.shape[1]).index_add(0, inverse, features)
    counts = features.new_zeros(present.shape[0]).index_add(
        0, inverse, torch.ones_like(inverse, dtype=features.dtype)
    )
    return sums / counts.unsqueeze(-1), inverse


def fixed_centres(features, labels, classes):
    sums = features.new_zeros(classes, features.shape[1]).index_add(0, labels, features)
    counts = features.new_zeros(classes).index_add(0, labels, torch.ones_like(labels, dtype=features.dtype))
    return sums / counts.clamp(min=1.0).unsqueeze(-1), labels


class CentreLoss:
    def __init__(self, make):
        self.make = make

    def __call__(self, features, labels):
        middle, inverse = self.make(features, labels)
        return (features - middle[inverse]).square().sum(-1).mean()


def build(classes, fixed=False):
    return CentreLoss(partial(fixed_centres, classes=classes) if fixed else centres)


class Metric:
    def __init__(self, net, loss, batch, width):
        self.net, self.loss_fn = net, loss
        self.x = torch.zeros(batch, width, device="cuda")
        self.labels = torch.zeros(batch, dtype=torch.long, device="cuda")

    def _step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.loss_fn(self.net(self.x), self.labels)
        loss.backward()
        return loss

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()


def main():
    metric = Metric(nn.Linear(16, 8).cuda(), build(10), 64, 16)
    metric.record()
    return metric
