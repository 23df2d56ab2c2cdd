"""Losses over the labelled part of a batch, and a histogram of classes."""

import torch
import torch.nn.functional as F


def labelled_loss(logits, labels):
    keep = labels != -100
    return F.cross_entropy(logits[keep], labels[keep])  # expect: CG305


def ignoring_loss(logits, labels):
    return F.cross_entropy(logits, labels, ignore_index=-100)  # ok: CG305


def class_weights(labels):
    present, counts = torch.unique(labels, return_counts=True)  # expect: CG305
    return counts.sum() / present.numel()


def class_counts(labels, classes: int):
    return torch.bincount(
        labels, minlength=classes
    )  # graphlint: ignore[CG305] -- measured again each release


def one_hot_loss(logits, labels, classes: int):
    target = F.one_hot(labels.clamp_min(0))  # expect: CG305
    return (logits.log_softmax(-1) * target).sum()


def record(net, images: torch.Tensor, labels: torch.Tensor):
    images, labels = images.cuda(), labels.cuda()

    def step():
        logits = net(images)
        weight = class_weights(labels) + class_counts(labels, 10)[0]
        top = torch.topk(logits, 5).values.sum()  # ok: CG305
        loss = labelled_loss(logits, labels) + ignoring_loss(logits, labels)
        return loss * weight + one_hot_loss(logits, labels, 10) + top

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, images, labels, loss
