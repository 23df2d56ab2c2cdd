"""Gradients are divided by the number of tokens of all ranks. The count of this rank is a Python integer that the
captured code turns into a device tensor. (Compare NVIDIA/Megatron-LM#4663.)"""

from functools import partial

import torch
import torch.distributed as dist
from torch import nn


def language_loss(logits, labels):
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")


def finalize(params, tokens, group=None):
    total = torch.tensor([tokens], dtype=torch.int64, device="cuda")  # HAZARD: pageable-copy
    dist.all_reduce(total, group=group)
    for p in params:
        p.grad.div_(total)


class Decoder(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed, self.out = nn.Embedding(vocab, width), nn.Linear(width, vocab)

    def forward(self, ids):
        return self.out(torch.tanh(self.embed(ids)))


class ForwardBackward:
    def __init__(self, net, finish, batch, length):
        self.net, self.finish = net, finish
        self.ids = torch.zeros(batch, length, dtype=torch.long, device="cuda")
        self.labels = torch.zeros_like(self.ids)

    def __call__(self):
        self.net.zero_grad(set_to_none=True)
        loss = language_loss(self.net(self.ids), self.labels)
        loss.backward()
        self.finish(tokens=self.labels.numel())
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = self()


def main():
    net = Decoder(1000, 32).cuda()
    run = ForwardBackward(net, partial(finalize, list(net.parameters())), 2, 16)
    run.capture()
    return run
