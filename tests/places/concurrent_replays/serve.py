"""Runs the engines, side by side and one after another."""

import torch
from engine import Apart, Shared


def side_by_side(net: torch.nn.Linear):
    shared, apart = Shared(net), Apart(net)
    shared.run_prefill()
    shared.run_decode()
    torch.cuda.synchronize()
    shared.run_prefill()
    shared.decode.replay()  # expect: CG608
    torch.cuda.synchronize()
    apart.run()


def one_after_another(net: torch.nn.Linear, batches):
    x = torch.zeros(8, 16, device="cuda")
    main, side, third = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
    done = torch.cuda.Event()
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    graph.replay()
    graph.replay()  # ok: CG608
    side.wait_stream(main)
    with torch.cuda.stream(side):
        graph.replay()  # ok: CG608
        done.record()
    main.wait_event(done)
    graph.replay()  # ok: CG608
    torch.cuda.synchronize()
    with torch.cuda.stream(third):
        graph.replay()  # ok: CG608
    third.synchronize()
    graph.replay()  # ok: CG608
    return y.clone()


def one_graph_on_two_streams(net: torch.nn.Linear, batches):
    x = torch.zeros(8, 16, device="cuda")
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    with torch.cuda.stream(one):
        graph.replay()
    with torch.cuda.stream(two):
        graph.replay()  # expect: CG608
    torch.cuda.synchronize()
    with torch.cuda.stream(one):
        graph.replay()
    graph.replay()  # expect: CG608
    one.synchronize()
    two.wait_stream(one)
    with torch.cuda.stream(two):
        graph.replay()  # expect: CG608
    torch.cuda.synchronize()
    graph.replay()
    with torch.cuda.stream(one):
        graph.replay()  # graphlint: ignore[CG608] -- the same inputs, and the result is not read
    torch.cuda.synchronize()
    for stream in (one, two):
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            graph.replay()  # ok: CG608
    torch.cuda.synchronize()
    graph.replay()
    two.wait_stream(one)
    with torch.cuda.stream(two):
        graph.replay()  # expect: CG608
    torch.cuda.synchronize()
    return y.clone()
