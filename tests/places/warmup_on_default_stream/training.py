"""Captures of backward passes, with every kind of warm-up."""

import torch
from steps import forward_backward, warm_up


def with_a_step(model: torch.nn.Linear, x):
    x = torch.zeros(8, 16, device="cuda")
    last = forward_backward(model, x)
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        forward_backward(model, x)
    return graph, x, last


def kept_in_a_name(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    for _ in range(3):
        loss = model(x).sum()
        loss.backward()
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(x).sum()
        out.backward()  # expect: CG703
    return graph, x


def kept_in_a_list(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    losses = [model(x).sum()]
    losses[0].backward()
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(x).sum()
        torch.autograd.backward(out)  # expect: CG703
    return graph, x


def synchronised(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    loss = torch.nn.functional.mse_loss(model(x), x)
    loss.backward()
    torch.cuda.synchronize()
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).mean().backward()  # expect: CG703
    return graph, x


def through_autograd(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    first = model(x).sum()
    torch.autograd.backward(first)
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()  # expect: CG703
    return graph, x


def by_hand(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    loss = model(x).sum()
    loss.backward()
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        model(x).sum().backward()  # expect: CG703
        graph.capture_end()
    return graph, x


def accepted(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    loss = model(x).sum()
    loss.backward()
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()  # graphlint: ignore[CG703] -- torch 2.14, with the override
    return graph, x


def on_a_side_stream(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        loss = model(x).sum()
        loss.backward()
    torch.cuda.current_stream().wait_stream(side)
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()  # ok: CG703
    return graph, x


def in_a_function(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    warm_up(model, x)
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()  # ok: CG703
    return graph, x


def let_go(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    loss = model(x).sum()
    loss.backward()
    del loss
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()  # ok: CG703
    return graph, x


def only_the_number_is_kept(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    loss = model(x).sum()
    loss.backward()
    loss = loss.item()
    for p in model.parameters():
        p.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x).sum().backward()  # ok: CG703
    return graph, x, loss


def no_backward_in_the_graph(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda")
    loss = model(x).sum()
    loss.backward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)  # ok: CG703
    return graph, x, y, loss


def graphed_by_the_library(model: torch.nn.Linear):
    x = torch.zeros(8, 16, device="cuda", requires_grad=True)
    loss = model(x).sum()
    loss.backward()
    graphed = torch.cuda.make_graphed_callables(model, (x,))  # ok: CG703
    return graphed, loss
