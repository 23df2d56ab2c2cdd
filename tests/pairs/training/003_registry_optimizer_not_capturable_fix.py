"""The optimizer comes from a registry of partials; the entry that the configuration picks keeps its step
count on the device."""

from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

OPTIMIZERS = {
    "sgd": partial(torch.optim.SGD, momentum=0.9),
    "adamw": partial(torch.optim.AdamW, betas=(0.9, 0.95), capturable=True),
}


@dataclass
class RunConfig:
    optimizer: str = "adamw"
    lr: float = 3e-4
    width: int = 128


class Runner:
    def __init__(self, config: RunConfig):
        self.net = nn.Linear(config.width, config.width).cuda()
        self.tokens = torch.zeros(16, config.width, device="cuda")
        self.optim = OPTIMIZERS[config.optimizer](self.net.parameters(), lr=config.lr)

    def step(self):
        self.optim.zero_grad()
        loss = self.net(self.tokens).square().mean()
        loss.backward()
        self.optim.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()


def main():
    runner = Runner(RunConfig())
    runner.capture()
    return runner
