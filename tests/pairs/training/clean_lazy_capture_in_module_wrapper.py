"""Clean: a wrapper captures a module for each shape at its first use and answers with copies; in training
mode, with hooks or without CUDA it calls the module."""

import functools

import torch
from torch import nn


class Entry:
    __slots__ = ("graph", "inputs", "output")

    def __init__(self, graph, inputs, output):
        self.graph, self.inputs, self.output = graph, inputs, output


class GraphedModule(nn.Module):
    def __init__(self, module, most=8):
        super().__init__()
        self.module = module
        self.most = most
        self._entries = {}

    def _key(self, args):
        return tuple((tuple(a.shape), a.dtype, a.device.index) for a in args)

    def _usable(self, args):
        return not self.training and not torch.is_grad_enabled() and all(a.is_cuda for a in args)

    def _capture(self, args):
        inputs = [a.clone() for a in args]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.module(*inputs)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            output = self.module(*inputs)
        return Entry(graph, inputs, output)

    def forward(self, *args):
        if not self._usable(args):
            return self.module(*args)
        key = self._key(args)
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= self.most:
                return self.module(*args)
            entry = self._entries[key] = self._capture(args)
        for static, given in zip(entry.inputs, args, strict=False):
            static.copy_(given)
        entry.graph.replay()
        return entry.output.clone()


@functools.lru_cache(maxsize=4)
def encoder(width):
    return GraphedModule(nn.Sequential(nn.Linear(width, width), nn.ReLU())).cuda().eval()


@torch.no_grad()
def embed(batches, width=32):
    net = encoder(width)
    return torch.cat([net(batch.cuda()).cpu() for batch in batches])
