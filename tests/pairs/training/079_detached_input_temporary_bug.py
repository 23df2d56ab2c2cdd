"""The capture helper moves its sample to the device in a local variable and returns only the graph and the
loss; the caller refreshes its own tensor, which is another one."""

import torch
from torch import nn


def record(net, sample):
    x = sample.to("cuda", torch.float16).contiguous()  # HAZARD: stale-pointer

    def step():
        net.zero_grad(set_to_none=True)
        loss = net(x).float().square().mean()
        loss.backward()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return graph, loss


def train(loader):
    net = nn.Linear(16, 16).cuda().half()
    sample = torch.zeros(8, 16, device="cuda")
    graph, loss = record(net, sample)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in loader:
        sample.copy_(batch)  # ALT: rebind-static-input, stale-pointer
        graph.replay()
        opt.step()
    return loss.item()
