"""Graphs that add rows up, and graphs that do not."""

import torch
from buffers import Tokens


def balance(gate: torch.nn.Linear, batches):
    tokens = Tokens(64)
    gate(tokens.rows)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        load = torch.relu(gate(tokens.rows)).sum(dim=0)
    for batch in batches:
        tokens.fill(batch)
        graph.replay()
        yield load.clone()
    for batch in batches:
        tokens.fill_and_clear(batch)
        graph.replay()
        yield load.clone()
    for batch in batches:
        tokens.clear_and_fill(batch, 3)
        graph.replay()
        yield load.clone()


def weighted(gate: torch.nn.Linear, batches, n):
    tokens = Tokens(64)
    gate(tokens.rows)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = (gate(tokens.rows).mean(-1) * tokens.weights).sum()
    for batch in batches:
        tokens.fill_and_weigh(batch, n)
        graph.replay()
        yield loss.clone()


def each_row(gate: torch.nn.Linear, batches, n):
    x = torch.zeros(64, 16, device="cuda")
    gate(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        best = gate(x).softmax(dim=-1).max(dim=-1)
    for batch in batches:
        x[:n].copy_(batch)  # ok: CG109
        graph.replay()
        yield best[0][:n].clone()


def statistics(net: torch.nn.Linear, batches, n, count):
    a = torch.zeros(64, 16, device="cuda")
    b = torch.zeros(64, 16, device="cuda")
    c = torch.zeros(64, 16, device="cuda")
    d = torch.zeros(64, 16, device="cuda")
    e = torch.zeros(64, 16, device="cuda")
    f = torch.zeros(64, 16, device="cuda")
    g = torch.zeros(64, 16, device="cuda")
    lengths = torch.zeros(64, dtype=torch.int32, device="cuda")
    net(a)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mean = net(a).mean()
        top = torch.amax(net(b) * 2, dim=0)
        loss = torch.nn.functional.mse_loss(net(c), torch.ones_like(c))
        longest = lengths.max()
        norm = (d + 1).sum((0, 1))
        width = e.sum(dim=1)
        part = f[:8].mean()
        total = g.sum()
    for batch in batches:
        a[:n].copy_(batch)  # expect: CG109
        b[:n] = batch  # expect: CG109
        c[:count].copy_(batch, non_blocking=True)  # expect: CG109
        lengths[:n].fill_(3)  # expect: CG109
        d[: batch.shape[0]].copy_(batch)  # expect: CG109
        e[:n].copy_(batch)  # ok: CG109
        f[:n].copy_(batch)  # ok: CG109
        g[:n].copy_(batch)  # graphlint: ignore[CG109] -- batches only grow
        graph.replay()
        yield mean.item(), top.clone(), loss.item(), longest.item(), norm.item(), width.clone(), part, total
