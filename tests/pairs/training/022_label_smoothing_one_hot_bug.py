"""Smoothed targets are built with one_hot without the number of classes, which is then read from the
labels."""

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F


def smooth(labels, classes, eps):
    hard = F.one_hot(labels).to(torch.float32)  # HAZARD: implicit-sync, dynamic-shape
    return hard * (1.0 - eps) + eps / classes


def soft_cross_entropy(logits, target):
    return -(target * F.log_softmax(logits, dim=-1)).sum(-1).mean()


class Learner:
    def __init__(self, net, batch, dim, classes):
        self.net = net
        self.make_target = partial(smooth, classes=classes, eps=0.1)
        self.x = torch.zeros(batch, dim, device="cuda")
        self.y = torch.zeros(batch, dtype=torch.int64, device="cuda")
        self.criterion = soft_cross_entropy
        self.graph = torch.cuda.CUDAGraph()

    def run_batch(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.criterion(self.net(self.x), self.make_target(self.y))
        loss.backward()
        return loss

    def record(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.run_batch()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(self.graph, stream=stream):
            self.loss = self.run_batch()


def main():
    learner = Learner(nn.Linear(20, 5).cuda(), 32, 20, 5)
    learner.record()
    return learner
