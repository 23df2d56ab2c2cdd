"""The middle of a network is graphed with a sample that needs a gradient, as its inputs will."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.middle = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        return self.head(self.middle(self.embed(ids)))


def graph_middle(net, batch, width):
    sample = torch.randn(batch, width, device="cuda", requires_grad=True)
    net.middle = torch.cuda.make_graphed_callables(net.middle, (sample,))
    return net


def train(loader, vocab=1000, width=64, batch=16):
    net = graph_middle(Net(vocab, width).cuda(), batch, width)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for ids, target in loader:
        opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(ids.cuda()), target.cuda())
        loss.backward()
        opt.step()
    return net
