"""Clean: the loop's callbacks read losses, write files and change the learning rate in place, all between
replays."""

import time

import torch
from torch import nn


class LossPrinter:
    def __init__(self, every):
        self.every, self.started = every, time.perf_counter()

    def after_step(self, trainer, step):
        if step % self.every == 0:
            rate = (step + 1) / (time.perf_counter() - self.started)
            print(f"{step}: {trainer.loss.item():.4f} at {rate:.1f} steps/s")


class StopOnNan:
    def after_step(self, trainer, step):
        if not torch.isfinite(trainer.loss):
            raise FloatingPointError(f"loss at step {step}")


class Decay:
    def __init__(self, start, factor):
        self.value, self.factor = start, factor

    def after_step(self, trainer, step):
        self.value *= self.factor
        trainer.lr.fill_(self.value)


class Trainer:
    def __init__(self, net, shape, callbacks):
        self.net, self.callbacks = net, list(callbacks)
        self.x = torch.zeros(shape, device="cuda")
        self.lr = torch.full((), 1e-3, device="cuda")
        self.opt = torch.optim.Adam(net.parameters(), lr=self.lr, capturable=True)
        self.graph = torch.cuda.CUDAGraph()

    def iteration(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()
        return loss

    def fit(self, loader):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.iteration()
        for step, x in enumerate(loader):
            self.x.copy_(x)
            self.graph.replay()
            for callback in self.callbacks:
                callback.after_step(self, step)


def main(loader):
    callbacks = [LossPrinter(50), StopOnNan(), Decay(1e-3, 0.999)]
    Trainer(nn.Linear(8, 8).cuda(), (4, 8), callbacks).fit(loader)
