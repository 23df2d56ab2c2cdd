"""Curricula with a graph for each length, and layers with a graph each."""

import torch


def lengths(net: torch.nn.Module, limit: int):
    x = torch.zeros(limit, 16, device="cuda")
    pool, graphs = None, {}
    for length in range(16, limit, 16):  # expect: CG601
        net(x[:length])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            loss = net(x[:length]).mean()
        pool = pool or graph.pool()
        graphs[length] = (graph, loss)
    return x, graphs


def lengths_downwards(net: torch.nn.Module, limit: int):
    x = torch.zeros(limit, 16, device="cuda")
    pool, graphs = None, {}
    for length in range(limit, 0, -16):  # ok: CG601
        net(x[:length])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            loss = net(x[:length]).mean()
        pool = pool or graph.pool()
        graphs[length] = (graph, loss)
    return x, graphs


def layers(blocks: list[torch.nn.Linear], x: torch.Tensor):
    pool, kept = torch.cuda.graph_pool_handle(), []
    for index in range(len(blocks)):  # ok: CG601
        blocks[index](x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            y = blocks[index](x)
        kept.append((graph, x, y))
    return kept


def grids(cells: list[int]):
    pool, kept = torch.cuda.graph_pool_handle(), {}
    for count in sorted(cells):  # expect: CG601
        field = torch.zeros(count, count, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            smooth = 0.5 * (field + torch.roll(field, 1))
        kept[count] = (graph, field, smooth)
    return kept


def grids_as_given(cells: list[int]):
    pool, kept = torch.cuda.graph_pool_handle(), {}
    for count in cells:  # ok: CG601
        field = torch.zeros(count, count, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            smooth = 0.5 * (field + torch.roll(field, 1))
        kept[count] = (graph, field, smooth)
    return kept


def powers(net: torch.nn.Module, most: int):
    x = torch.zeros(2**most, 16, device="cuda")
    pool, graphs = torch.cuda.graph_pool_handle(), {}
    for exponent, size in enumerate([2**n for n in range(most)]):  # expect: CG601
        net(x[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            y = net(x[:size])
        graphs[exponent] = (graph, y)
    return x, graphs


def two_sizes(net: torch.nn.Module):
    x = torch.zeros(64, 16, device="cuda")
    pool, graphs = torch.cuda.graph_pool_handle(), {}
    for size in (8, 64):  # expect: CG601
        net(x[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            y = net(x[:size])
        graphs[size] = (graph, y)
    for size in (4, 32):  # graphlint: ignore[CG601] -- two graphs, the loss is small
        net(x[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            y = net(x[:size])
        graphs[size] = (graph, y)
    for size in (48, 24, 12):  # ok: CG601
        net(x[:size])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            y = net(x[:size])
        graphs[size] = (graph, y)
    return x, graphs
