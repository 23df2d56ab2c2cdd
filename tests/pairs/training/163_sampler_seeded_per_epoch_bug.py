"""Masks for masked modelling come from a generator of the augmentation, which a registry makes; the graph never
hears of the generator."""

import torch
from torch import nn

TRANSFORMS = {}


def transform(cls):
    TRANSFORMS[cls.__name__.lower()] = cls
    return cls


@transform
class Mask:
    def __init__(self, ratio, seed=0):
        self.ratio = ratio
        self.rng = torch.Generator(device="cuda")
        self.rng.manual_seed(seed)

    def __call__(self, x):
        noise = torch.rand(x.shape[:2], device=x.device, generator=self.rng)  # HAZARD: rng-unregistered
        return x * (noise > self.ratio).unsqueeze(-1)


@transform
class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


def build(spec):
    return [TRANSFORMS[name](**options) for name, options in spec.items()]


class Pretrain:
    def __init__(self, net, spec, shape):
        self.net, self.transforms = net, build(spec)
        self.x = torch.zeros(shape, device="cuda")

    def _loss(self):
        x = self.x
        for each in self.transforms:
            x = each(x)
        return (self.net(x) - self.x).square().mean()

    def _step(self):
        self.net.zero_grad(set_to_none=True)
        loss = self._loss()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()


def main():
    spec = {"scale": {"factor": 0.5}, "mask": {"ratio": 0.75}}
    run = Pretrain(nn.Linear(16, 16).cuda(), spec, (4, 10, 16))
    run.capture()
    return run
