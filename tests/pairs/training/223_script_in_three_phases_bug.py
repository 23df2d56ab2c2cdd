"""A script counts its steps: eleven to warm up, one to capture, the others replay. The captured step prints its
loss, and later steps move each batch to the device under the name of the static input."""

import torch
from torch import nn


def train(net: nn.Module, loader):
    net = net.cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.zeros(8, 16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    for i, batch in enumerate(loader):
        if i < 11:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                x.copy_(batch)
                opt.zero_grad(set_to_none=True)
                net(x).mean().backward()
                opt.step()
            torch.cuda.current_stream().wait_stream(side)
        elif i == 11:
            opt.zero_grad(set_to_none=True)
            with torch.cuda.graph(graph):
                loss = net(x).mean()
                loss.backward()
                print(loss.item())  # HAZARD: sync-in-capture
                opt.step()
        else:
            x = batch.cuda()  # HAZARD: rebind-static-input
            graph.replay()
