"""An option of the optimizer wrapper counts the zeros among the gradients for the log; with the optimizer
inside the captured step the count is read on the host. (Seen in NVIDIA/Megatron-LM#7407.)"""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class OptimizerConfig:
    lr: float = 1e-3
    clip_grad: float = 1.0
    log_zeros: bool = False


def count_zeros(params):
    total = torch.zeros((), device="cuda")
    for p in params:
        if p.grad is not None:
            total += p.grad.numel() - torch.count_nonzero(p.grad)
    return total.item()  # HAZARD: sync-in-capture


class WrappedOptimizer:
    def __init__(self, inner, config):
        self.inner, self.config = inner, config

    @property
    def params(self):
        return [p for group in self.inner.param_groups for p in group["params"]]

    def clip(self):
        return torch.nn.utils.clip_grad_norm_(self.params, self.config.clip_grad)

    def step_with_ready_grads(self):
        self.inner.step()
        return True

    def step(self):
        norm = self.clip() if self.config.clip_grad > 0.0 else None
        zeros = count_zeros(self.params) if self.config.log_zeros else None
        return self.step_with_ready_grads(), norm, zeros


class FlatOptimizer(WrappedOptimizer):
    def __init__(self, net, config):
        super().__init__(torch.optim.SGD(net.parameters(), lr=config.lr), config)


class FullIteration:
    def __init__(self, net, optimizer, shape):
        self.net, self.optimizer = net, optimizer
        self.tokens = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _iteration(self):
        self.optimizer.inner.zero_grad(set_to_none=True)
        loss = self.net(self.tokens).square().mean()
        loss.backward()
        _, norm, _zeros = self.optimizer.step()
        return loss, norm

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._iteration()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss, self.norm = self._iteration()


def main():
    net = nn.Linear(16, 16).cuda()
    run = FullIteration(net, FlatOptimizer(net, OptimizerConfig(log_zeros=True)), (8, 16))
    run.record()
    return run
