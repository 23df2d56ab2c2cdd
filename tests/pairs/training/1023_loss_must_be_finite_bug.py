"""Source: facebookresearch/detr and the MAE trainer (the run stops if the loss is not finite).

Symptom: turning the engine's training step into a graph fails in the sanity check: math.isfinite makes a Python number of the
loss.
"""

import math
import sys
from types import MappingProxyType

import torch
from torch import nn


class SetCriterion(nn.Module):
    weights = MappingProxyType({"loss_class": 1.0, "loss_box": 5.0})

    def forward(self, outputs, labels, boxes):
        return {
            "loss_class": nn.functional.cross_entropy(outputs["logits"], labels),
            "loss_box": nn.functional.l1_loss(outputs["boxes"], boxes),
        }


def total_loss(losses, weights):
    total = sum(losses[k] * weights[k] for k in losses if k in weights)
    if not math.isfinite(total):  # HAZARD: host-branch-on-device
        print("loss is not finite, stopping", file=sys.stderr)
        sys.exit(1)
    return total


class Engine:
    def __init__(self, model, d, n):
        self.model, self.criterion = model.cuda(), SetCriterion()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.samples = torch.zeros(n, d, device="cuda")
        self.labels = torch.zeros(n, dtype=torch.int64, device="cuda")
        self.boxes = torch.zeros(n, 4, device="cuda")

    def one_step(self):
        self.opt.zero_grad(set_to_none=True)
        losses = self.criterion(self.model(self.samples), self.labels, self.boxes)
        loss = total_loss(losses, self.criterion.weights)
        loss.backward()
        self.opt.step()
        return loss

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.one_step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.one_step()

    def train_one_epoch(self, loader):
        for samples, labels, boxes in loader:
            self.samples.copy_(samples)
            self.labels.copy_(labels)
            self.boxes.copy_(boxes)
            self.graph.replay()
