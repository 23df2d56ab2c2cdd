"""Several models on one device, each with a thread of its own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from pool import start, upload


class Replica:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(8, device="cuda")
        self.graph = None

    def step(self, batch: torch.Tensor):
        if self.graph is None:
            self.net(self.x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):  # expect: CG502
                self.y = self.net(self.x)
        self.x.copy_(batch)
        self.graph.replay()
        return self.y.clone()


def run(nets, sources):
    def drain(replica, source):
        for batch in source:
            replica.step(batch.cuda())

    for net, source in zip(nets, sources):
        threading.Thread(target=drain, args=(Replica(net), source)).start()


def build(nets):
    def one(net):
        x = torch.zeros(8, device="cuda")
        net(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # expect: CG502
            y = net(x)
        return graph, x, y

    with ThreadPoolExecutor(4) as pool:
        for net in nets:
            pool.submit(one, net)


def reload(net: torch.nn.Module, weights):
    def fetch():
        for name, value in weights.items():
            net.state_dict()[name].copy_(torch.as_tensor(value).cuda())

    threading.Thread(target=fetch, daemon=True).start()
    x = torch.zeros(8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # graphlint: ignore[CG502] -- the caller holds the loader's lock
        y = net(x)
    return graph, x, y


def warm(net: torch.nn.Module, items):
    staged: list[torch.Tensor] = []
    start(upload, items, staged)
    x = torch.zeros(8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG502
        y = net(x)
    return graph, x, y, staged
