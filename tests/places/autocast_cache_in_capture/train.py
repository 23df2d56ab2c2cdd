"""Training steps in mixed precision."""

import torch
from torch import nn


def one_line(net: nn.Module, x: torch.Tensor):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.autocast("cuda", dtype=torch.float16), torch.cuda.graph(graph):  # expect: CG801
        loss = net(x).mean()
    return graph, x, loss


def by_flag(net: nn.Module, x: torch.Tensor, amp: bool):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.autocast(device_type="cuda", enabled=amp):  # expect: CG801
        with torch.cuda.graph(graph):
            loss = net(x).mean()
    return graph, x, loss


def switched_off(net: nn.Module, x: torch.Tensor):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.autocast("cuda", enabled=False):  # ok: CG801
        with torch.cuda.graph(graph):
            loss = net(x).mean()
    return graph, x, loss


def for_the_host(net: nn.Module, x: torch.Tensor):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.autocast("cpu"):  # ok: CG801
        with torch.cuda.graph(graph):
            loss = net(x).mean()
    return graph, x, loss


def old_name(net: nn.Module, x: torch.Tensor):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.amp.autocast():  # expect: CG801
        with torch.cuda.graph(graph):
            loss = net(x).mean()
    return graph, x, loss


def nested(net: nn.Module, x: torch.Tensor):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.autocast("cuda", enabled=False):
        with torch.autocast("cuda", dtype=torch.float16):  # expect: CG801
            with torch.cuda.graph(graph):
                loss = net(x).mean()
    return graph, x, loss


class Trainer:
    def __init__(self, net: nn.Module, dtype: torch.dtype):
        self.net = net
        self.precision = torch.autocast("cuda", dtype=dtype)  # expect: CG801
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with self.precision:
            with torch.cuda.graph(self.graph):
                self.loss = self.net(self.x).mean()

    def run(self):
        with self.precision:
            self.graph.replay()
        return self.loss.item()


def shown(net: nn.Module, x: torch.Tensor):
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.autocast("cuda"):  # graphlint: ignore[CG801] -- weights do not change here
        with torch.cuda.graph(graph):
            loss = net(x).mean()
    return graph, x, loss


def before(net: nn.Module, x: torch.Tensor):
    with torch.autocast("cuda"):  # ok: CG801
        net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = net(x).mean()
    return graph, x, loss
