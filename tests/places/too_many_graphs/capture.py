"""Captures graphs for sizes, adapters and pieces of a model."""

import torch
from sizes import capture_one


def every_size(net: torch.nn.Linear):
    pool = torch.cuda.graph_pool_handle()
    net(torch.zeros(8, 8, device="cuda"))
    graphs = {}
    for size in reversed(range(1, 2049)):
        graphs[size] = capture_one(net, size, pool)
    return graphs


def by_adapter(net: torch.nn.Linear, pool, config, adapters):
    graphs = {}
    x = torch.zeros(8, 8, device="cuda")
    net(x)
    for size in reversed(range(256)):
        for adapter in (0, 1, 2, 4):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):  # expect: CG607
                y = net(x)
            graphs[size, adapter] = graph, y
    for piece in range(40):
        for size in (64, 32, 16, 8, 4, 2, 1):
            for adapter in range(2):
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, pool=pool):  # expect: CG607
                    y = net(x)
                graphs[piece, size, adapter] = graph, y
    for size in range(600, 0, -1):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):  # expect: CG607
            y = net(x)
        graphs[size] = graph, y
    for a in range(30):
        for b in range(30):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):  # expect: CG607
                y = net(x)
            graphs[a, b] = graph, y
    for a in range(30):
        for b in range(30):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):  # graphlint: ignore[CG607] -- a table of all pairs
                y = net(x)
            graphs["pair", a, b] = graph, y
    for size in [256, 128, 64, 32]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):  # ok: CG607
            y = net(x)
        graphs["few", size] = graph, y
    for size in config.sizes:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):  # ok: CG607
            y = net(x)
        graphs["config", size] = graph, y
    for size in range(config.most):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):  # ok: CG607
            y = net(x)
        graphs["most", size] = graph, y
    for size in range(1000):
        for adapter in adapters:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):  # ok: CG607
                y = net(x)
            graphs["given", size, adapter] = graph, y
    return graphs, x


def on_demand(net: torch.nn.Linear, requests, pool):
    graphs = {}
    x = torch.zeros(8, 8, device="cuda")
    net(x)
    for request in requests:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):  # ok: CG607
            y = net(x)
        graphs[request] = graph, y
    for size in reversed(range(8, 512, 8)):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):  # ok: CG607
            y = net(x)
        graphs[size] = graph, y
    for size in reversed(range(1, 700)):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):  # expect: CG607
            y = net(x)
        graphs[size] = graph, y
    return graphs, x
