"""A module-level counter is advanced where the graph is replayed and decides when to evaluate."""

import torch
from torch import nn

STEPS_DONE = 0


def forward_backward(net, x):
    net.zero_grad(set_to_none=True)
    loss = net(x).square().mean()
    loss.backward()
    return loss


def capture(net, x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            forward_backward(net, x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = forward_backward(net, x)
    return graph, loss


@torch.no_grad()
def evaluate(net, held_out):
    return net(held_out).mean().item()


def train(loader, held_out, every=200):
    global STEPS_DONE
    net = nn.Linear(12, 12).cuda()
    x = torch.zeros(6, 12, device="cuda")
    graph, loss = capture(net, x)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    history = []
    for batch in loader:
        x.copy_(batch)
        graph.replay()
        opt.step()
        STEPS_DONE += 1
        if STEPS_DONE % every == 0:
            history.append((loss.item(), evaluate(net, held_out)))
    return history
