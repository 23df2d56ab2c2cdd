"""Seen in microsoft/dion#104 (which carries the rate in a device tensor for this reason).

Symptom: the optimizer multiplies with the Python number in its group. Its step is captured after some
eager ones, and the scheduler that runs after each replay changes nothing any more.
"""

import torch
from torch import nn


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr: float = 0.02, momentum: float = 0.95, iterations: int = 5):
        super().__init__(params, dict(lr=lr, momentum=momentum, iterations=iterations))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["buffer"] = torch.zeros_like(p)

    @staticmethod
    def _orthogonal(g: torch.Tensor, iterations: int) -> torch.Tensor:
        x = g / (g.norm() + 1e-7)
        for _ in range(iterations):
            a = x @ x.T
            x = 1.5 * x - 0.5 * a @ x
        return x

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                buffer = self.state[p]["buffer"]
                buffer.mul_(group["momentum"]).add_(p.grad)
                update = self._orthogonal(buffer, group["iterations"])
                p.add_(update, alpha=-group["lr"])  # HAZARD: frozen-scalar


class GraphedStep:
    """Runs an optimizer eagerly for a while, then replays its step."""

    def __init__(self, optimizer: Muon, eager_steps: int = 10):
        self.optimizer, self.left = optimizer, eager_steps
        self.graph = None

    def step(self) -> None:
        if self.left > 0:
            self.left -= 1
            self.optimizer.step()
            return
        if self.graph is None:
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.optimizer.step()
        self.graph.replay()


def train(net: nn.Module, loader, epochs: int) -> None:
    net = net.cuda()
    matrices = [p for p in net.parameters() if p.ndim == 2]
    optimizer = Muon(matrices)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 0.9**e)
    stepper = GraphedStep(optimizer)
    for _ in range(epochs):
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x.cuda()), y.cuda())
            loss.backward()
            stepper.step()
            optimizer.zero_grad(set_to_none=False)
        schedule.step()  # ALT: frozen-scalar
