"""Source: a small mixture-of-experts layer graphed after unslothai/unsloth-zoo#1248.

Symptom: the expert layer cannot be recorded: the experts that the router has chosen are taken out of the module list by a
tensor, which Python has to turn into an index.
"""

import torch
from torch import nn


class TopExperts(nn.Module):
    def __init__(self, d, experts=8, k=2):
        super().__init__()
        self.gate = nn.Linear(d, experts)
        self.experts = nn.ModuleList([nn.Linear(d, d) for _ in range(experts)])
        self.k = k

    def forward(self, x):
        weights = self.gate(x).mean(0).softmax(-1)
        top, chosen = weights.topk(self.k)
        y = torch.zeros_like(x)
        for weight, index in zip(top, chosen):
            y = y + weight * self.experts[index](x)  # HAZARD: implicit-sync
        return x + y


class Learner:
    def __init__(self, d, depth, tokens):
        self.net = nn.Sequential(*[TopExperts(d) for _ in range(depth)]).cuda()
        self.x = torch.zeros(tokens, d, device="cuda")
        self.y = torch.zeros(tokens, d, device="cuda")

    def gradients(self):
        self.net.zero_grad(set_to_none=True)
        loss = nn.functional.smooth_l1_loss(self.net(self.x), self.y)
        loss.backward()
        return loss

    def capture(self, stream):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.gradients()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):
            self.loss = self.gradients()


def fit(learner, loader, optimizer):
    learner.capture(torch.cuda.Stream())
    for x, y in loader:
        learner.x.copy_(x)
        learner.y.copy_(y)
        learner.graph.replay()
        optimizer.step()
