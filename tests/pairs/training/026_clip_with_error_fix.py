"""Gradient clipping is configured through a partial; without error_if_nonfinite it never looks at the
norm."""

from functools import partial

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


def build_clipper(max_norm, strict):
    if max_norm is None:
        return lambda params: None
    return partial(clip_grad_norm_, max_norm=max_norm, error_if_nonfinite=strict)


class Iteration:
    def __init__(self, net, shape, clip=1.0, strict=False):
        self.net = net
        self.params = [p for p in net.parameters() if p.requires_grad]
        self.clip = build_clipper(clip, strict)
        self.opt = torch.optim.SGD(self.params, lr=0.01, momentum=0.9)
        self.data = torch.zeros(shape, device="cuda")

    def __call__(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.data).mean()
        loss.backward()
        self.clip(self.params)
        self.opt.step()
        return loss


class Recorder:
    def __init__(self, fn):
        self.fn, self.graph = fn, torch.cuda.CUDAGraph()

    def record(self, warmup=3):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(warmup):
                self.fn()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(self.graph, stream=stream):
            self.result = self.fn()


def main():
    recorder = Recorder(Iteration(nn.Linear(32, 1).cuda(), (16, 32)))
    recorder.record()
    return recorder
