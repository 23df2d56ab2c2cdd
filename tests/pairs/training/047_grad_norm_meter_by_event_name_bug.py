"""A trainer calls its plugins by event name; one of them turns the gradient norm into a Python number while
the step is captured."""

import torch
from torch import nn


class Plugin:
    def after_backward(self, trainer, **info):
        pass

    def after_update(self, trainer, **info):
        pass


class NormMeter(Plugin):
    def __init__(self):
        self.rows = []

    def after_backward(self, trainer, **info):
        norms = [p.grad.norm() for p in trainer.model.parameters()]
        self.rows.append({"total": torch.stack(norms).norm().item(), **info})  # HAZARD: implicit-sync


class Trainer:
    def __init__(self, model, shape, plugins=()):
        self.model = model
        self.x = torch.zeros(shape, device="cuda")
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.plugins = tuple(plugins)
        self.graph = torch.cuda.CUDAGraph()

    def notify(self, event, **info):
        for plugin in self.plugins:
            getattr(plugin, f"after_{event}")(self, **info)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model(self.x).square().mean()
        loss.backward()
        self.notify("backward", phase="train")
        self.optimizer.step()
        self.notify("update")
        return loss

    def build(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.step()


def main():
    trainer = Trainer(nn.Linear(8, 8).cuda(), (4, 8), [NormMeter()])
    trainer.build()
    return trainer
