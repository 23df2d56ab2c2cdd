"""A captured forward pass and its loss."""

import torch


class GraphedLoss:
    def __init__(self, net: torch.nn.Module, width: int):
        self.net = net
        self.x = torch.zeros(8, width, device="cuda")
        self.y = torch.zeros(8, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.forward()
        self.net.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = self.forward()

    def forward(self):
        return (self.net(self.x) - self.y).pow(2).mean()

    def __call__(self, x: torch.Tensor, y: torch.Tensor):
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.loss


class GraphedStep(GraphedLoss):
    def forward(self):
        loss = super().forward()
        loss.backward()  # ok: CG805
        return loss
