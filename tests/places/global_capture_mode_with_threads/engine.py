"""Engines that capture while something else runs."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from feeding import Feeder, pin, watch
from torch.utils.data import DataLoader


def serve(net: torch.nn.Module, items):
    feeder = Feeder(items)
    feeder.start()
    x = torch.zeros(8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG502
        y = net(x)
    while True:
        x.copy_(feeder.ready.get())
        graph.replay()
        yield y.clone()


def serve_in_order(net: torch.nn.Module, items):
    x = torch.zeros(8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG502
        y = net(x)
    feeder = Feeder(items)
    feeder.start()
    x.copy_(feeder.ready.get())
    graph.replay()
    return y.clone()


class Staged:
    def __init__(self, net: torch.nn.Module, items):
        self.net = net
        self.out: queue.Queue = queue.Queue()
        self.worker = threading.Thread(target=pin, args=(items, self.out))
        self.worker.start()
        self.x = torch.zeros(8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):  # expect: CG502
            self.y = self.net(self.x)

    def step(self):
        self.x.copy_(self.out.get())
        self.graph.replay()
        return self.y.clone()


def staged_first(net: torch.nn.Module, items):
    out: queue.Queue = queue.Queue()
    worker = threading.Thread(target=pin, args=(items, out))
    worker.start()
    worker.join()
    x = torch.zeros(8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG502
        y = net(x)
    x.copy_(out.get())
    graph.replay()
    return y.clone()


def with_heartbeat(net: torch.nn.Module):
    stop = threading.Event()
    threading.Thread(target=watch, args=(stop, [])).start()
    x = torch.zeros(8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG502
        y = net(x)
    graph.replay()
    stop.set()
    return y.clone()


def preloaded(net: torch.nn.Module, items):
    pool = ThreadPoolExecutor(2)
    job = pool.submit(pin, items, queue.Queue())
    x = torch.zeros(8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # expect: CG502
        y = net(x)
    job.result()
    graph.replay()
    return y.clone()


def preloaded_first(net: torch.nn.Module, items):
    with ThreadPoolExecutor(2) as pool:
        pool.submit(pin, items, queue.Queue())
    x = torch.zeros(8, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # ok: CG502
        y = net(x)
    graph.replay()
    return y.clone()


def train(net: torch.nn.Module, data):
    loader = DataLoader(data, batch_size=8, num_workers=2, pin_memory=True)
    graph = None
    for batch in loader:
        if graph is None:
            x = batch.cuda()
            net(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # expect: CG502
                loss = net(x).mean()
        x.copy_(batch)
        graph.replay()
    return loss


def train_with_own_mode(net: torch.nn.Module, data):
    loader = DataLoader(data, batch_size=8, num_workers=2, pin_memory=True)
    graph = None
    for batch in loader:
        if graph is None:
            x = batch.cuda()
            net(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # ok: CG502
                loss = net(x).mean()
        x.copy_(batch)
        graph.replay()
    return loss


def train_without_pinning(net: torch.nn.Module, data):
    graph = None
    for batch in DataLoader(data, batch_size=8, num_workers=2):
        if graph is None:
            x = batch.cuda()
            net(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # ok: CG502
                loss = net(x).mean()
        x.copy_(batch)
        graph.replay()
    return loss
