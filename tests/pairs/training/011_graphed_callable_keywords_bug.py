"""A graphed module takes positional tensors only; the training loop passes the mask by keyword."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)

    def forward(self, x, mask):
        return self.proj(x) * mask


class Stack(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def graph_blocks(self, x, mask):
        graphed = []
        for block in self.blocks:
            sample = (x.clone().requires_grad_(True), mask.clone())
            graphed.append(torch.cuda.make_graphed_callables(block, sample))
        self.blocks = nn.ModuleList(graphed)

    def forward(self, x, mask):
        for block in self.blocks:
            x = block(x, mask=mask)  # HAZARD: training, other
        return self.head(x)


def train(loader, width=32):
    net = Stack(width, 4).cuda()
    net.graph_blocks(torch.randn(8, width, device="cuda"), torch.ones(8, 1, device="cuda"))
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)
    for x, mask in loader:
        opt.zero_grad(set_to_none=True)
        loss = net(x.cuda().requires_grad_(True), mask.cuda()).mean()
        loss.backward()
        opt.step()
