"""Adversarial and recurrent training."""

import torch
from torch import nn


def critic(batches):
    x = torch.zeros(8, 8, device="cuda")
    judge = torch.cuda.make_graphed_callables(nn.Linear(8, 1).cuda(), (x,))
    for real, fake in batches:
        good = judge(real).mean()
        bad = judge(fake).mean()  # expect: CG807
        (bad - good).backward()


def critic_in_turn(batches):
    x = torch.zeros(8, 8, device="cuda")
    judge = torch.cuda.make_graphed_callables(nn.Linear(8, 1).cuda(), (x,))
    for real, fake in batches:
        (-judge(real).mean()).backward()
        judge(fake).mean().backward()  # ok: CG807


def with_keywords(batches):
    x = torch.zeros(8, 8, device="cuda")
    net = torch.cuda.make_graphed_callables(nn.Bilinear(8, 8, 8).cuda(), (x, x))
    for one, two in batches:
        net(one, input2=two).mean().backward()  # expect: CG807


def plain(batches):
    net = nn.Linear(8, 8).cuda()
    for batch in batches:
        net(input=batch).mean().backward()  # ok: CG807


def watched(batches, meter: list):
    x = torch.zeros(8, 8, device="cuda")
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).cuda()
    net.register_full_backward_hook(lambda module, gives, takes: meter.append(len(takes)))
    net = torch.cuda.make_graphed_callables(net, (x,))  # expect: CG807
    for batch in batches:
        net(batch).mean().backward()


def unrolled(batches):
    x = torch.zeros(8, 8, device="cuda")
    cell = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (x,))  # expect: CG807
    for batch in batches:
        hidden = cell(batch)
        hidden = cell(hidden)  # expect: CG807
        hidden.mean().backward()


def shown(batches):
    x = torch.zeros(8, 8, device="cuda")
    net = torch.cuda.make_graphed_callables(nn.Linear(8, 8).cuda(), (x,))
    for batch in batches:
        net(input=batch).mean().backward()  # graphlint: ignore[CG807] -- the test expects a TypeError
