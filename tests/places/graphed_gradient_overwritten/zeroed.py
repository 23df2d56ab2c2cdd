"""Gradients that are set to zero in place, and other ways to start anew."""

import torch
from torch import nn


def graphed(net: nn.Module):
    return torch.cuda.make_graphed_callables(net, (torch.zeros(8, 16, device="cuda"),))


def in_place(batches):
    net = graphed(nn.Linear(16, 1).cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        optimizer.zero_grad(set_to_none=False)
        net(batch).mean().backward()  # expect: CG811
        optimizer.step()


def of_the_module(batches):
    net = graphed(nn.Linear(16, 1).cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net.zero_grad(set_to_none=False)
        torch.autograd.backward(net(batch).mean())  # expect: CG811
        optimizer.step()


def scaled(batches):
    net, scaler = graphed(nn.Linear(16, 1).cuda()), torch.amp.GradScaler()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        optimizer.zero_grad(set_to_none=False)
        scaler.scale(net(batch).mean()).backward()  # expect: CG811
        scaler.step(optimizer)
        scaler.update()


def accepted(batches):
    net = graphed(nn.Linear(16, 1).cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        optimizer.zero_grad(set_to_none=False)
        net(batch).mean().backward()  # graphlint: ignore[CG811]
        optimizer.step()


def dropped_one_by_one(batches):
    net = graphed(nn.Linear(16, 1).cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        for parameter in net.parameters():
            parameter.grad = None
        net(batch).mean().backward()  # ok: CG811
        optimizer.step()


def asked_for(batches):
    net = graphed(nn.Linear(16, 1).cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        optimizer.zero_grad()
        net(batch).mean().backward()  # ok: CG811
        optimizer.step()


def without_optimizer(batches):
    net = graphed(nn.Linear(16, 1).cuda())
    for batch in batches:
        net(batch).mean().backward()  # ok: CG811


def not_through_it(batches):
    net, head = graphed(nn.Linear(16, 1).cuda()), nn.Linear(16, 1).cuda()
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for batch in batches:
        head(batch).mean().backward()  # ok: CG811
        optimizer.step()


def nobody_drops_them(batches):
    net = graphed(nn.Linear(16, 1).cuda())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        net(batch).mean().backward()  # expect: CG811
        optimizer.step()
