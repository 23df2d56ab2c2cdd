"""Engines that share a pool between streams."""

import torch
from recorder import recorded


def towers(net: torch.nn.Module, x: torch.Tensor):
    x = x.cuda()
    pool = torch.cuda.graph_pool_handle()
    left = recorded(net, x, pool, torch.cuda.Stream())
    right = recorded(net, x, pool, torch.cuda.Stream())
    return left, right, x


class PrefillAndDecode:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.prefill_stream, self.decode_stream = torch.cuda.Stream(), torch.cuda.Stream()
        self.x = torch.zeros(64, 16, device="cuda")
        self.prefill, self.decode = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()

    def capture(self):
        pool = torch.cuda.graph_pool_handle()
        self.net(self.x)
        with torch.cuda.graph(self.prefill, pool=pool, stream=self.prefill_stream):  # ok: CG605
            self.hidden = self.net(self.x)
        with torch.cuda.graph(self.decode, pool=pool, stream=self.decode_stream):  # expect: CG605
            self.token = self.net(self.x[:1])

    def step(self):
        self.prefill.replay()
        hidden = self.hidden.clone()
        self.decode.replay()
        return hidden, self.token.clone()


class OneStream:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.stream = torch.cuda.Stream()
        self.x = torch.zeros(64, 16, device="cuda")
        self.prefill, self.decode = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()

    def capture(self):
        pool = torch.cuda.graph_pool_handle()
        self.net(self.x)
        with torch.cuda.graph(self.prefill, pool=pool, stream=self.stream):  # ok: CG605
            self.hidden = self.net(self.x)
        with torch.cuda.graph(self.decode, pool=pool, stream=self.stream):  # ok: CG605
            self.token = self.net(self.x[:1])

    def step(self):
        self.prefill.replay()
        hidden = self.hidden.clone()
        self.decode.replay()
        return hidden, self.token.clone()


def borrowed(net: torch.nn.Module, x: torch.Tensor):
    x = x.cuda()
    net(x)
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):  # ok: CG605
        y = net(x)
    with torch.cuda.graph(second, pool=first.pool(), stream=torch.cuda.Stream()):  # expect: CG605
        z = net(x)
    return first, second, x, y, z


def borrowed_on_the_same(net: torch.nn.Module, x: torch.Tensor):
    x = x.cuda()
    net(x)
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):  # ok: CG605
        y = net(x)
    with torch.cuda.graph(second, pool=first.pool()):  # ok: CG605
        z = net(x)
    return first, second, x, y, z
