"""Only the forward is captured, and the loop calls backward on the captured loss after every replay: the
autograd graph of the capture is used again and again."""

import torch
from torch import nn


class ForwardGraph:
    def __init__(self, net, criterion, batch, dim):
        self.net, self.criterion = net, criterion
        self.x = torch.zeros(batch, dim, device="cuda")
        self.y = torch.zeros(batch, 1, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.criterion(self.net(self.x), self.y)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.criterion(self.net(self.x), self.y)

    def __call__(self, x, y):
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.loss


def train(loader, dim=16, batch=32):
    net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1)).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    forward = ForwardGraph(net, nn.MSELoss(), batch, dim)
    for x, y in loader:
        opt.zero_grad()
        loss = forward(x, y)
        loss.backward(retain_graph=True)  # HAZARD: training
        opt.step()
    return net
