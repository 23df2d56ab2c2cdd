"""Source: Lightning-AI/pytorch-lightning#18501.

Symptom: capturing raises "Attempting CUDA graph capture of step() for an instance of Adam but param_groups' capturable is False":
the configuration asks for the fused implementation and nothing else.
"""

from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class OptimConfig:
    name: str = "Adam"
    lr: float = 3e-4
    kwargs: dict = field(default_factory=lambda: {"betas": (0.9, 0.95), "fused": True})  # ALT: training

    def build(self, module: nn.Module):
        cls = getattr(torch.optim, self.name)
        decay, plain = [], []
        for name, p in module.named_parameters():
            (plain if name.endswith("bias") else decay).append(p)
        groups = [{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
        return cls(groups, lr=self.lr, **self.kwargs)  # ALT: training


class GraphRunner:
    def __init__(self, module: nn.Module, config: OptimConfig, sample):
        self.module = module.cuda()
        self.opt = config.build(self.module)
        self.x = sample.cuda()

    def train_step(self):
        loss = self.module(self.x).square().mean()
        loss.backward()
        self.opt.step()  # HAZARD: training
        self.opt.zero_grad(set_to_none=False)
        return loss

    def warm_and_record(self, n=3):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(n):
                self.train_step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=side):
            self.loss = self.train_step()


def main(loader):
    runner = GraphRunner(
        nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 1)), OptimConfig(), torch.zeros(8, 32)
    )
    runner.warm_and_record()
    for x in loader:
        runner.x.copy_(x)
        runner.graph.replay()
