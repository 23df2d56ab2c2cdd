"""Training inside graphs, and `make_graphed_callables`."""

from __future__ import annotations

from typing import Any

import torch

from tests.sentinel.capturing import capture
from tests.sentinel.scenarios import full, ones, scenario


@scenario()
def backward_no_side_warmup() -> Any:
    p = torch.nn.Parameter(ones(4))
    capture(lambda: (p * 2).sum().backward())
    return "captured"


@scenario()
def backward_nonleaf_default() -> Any:
    p = torch.nn.Parameter(ones(4))
    y = p * 2  # on the default stream, where its backward step will run as well
    capture(lambda: y.sum().backward())


@scenario()
def backward_holding_graph_default() -> Any:
    layer, x = torch.nn.Linear(4, 4).cuda(), ones(4, 4)
    capture(lambda: layer(x).sum().backward())


@scenario()
def autocast_cache() -> Any:
    layer, x = torch.nn.Linear(8, 4, bias=False).cuda(), ones(1, 8)
    layer.weight.data.fill_(1)
    with torch.autocast("cuda", dtype=torch.float16):
        layer(x)
        graph, out = capture(lambda: layer(x))
        graph.replay()
        before = out[0].tolist()
        layer.weight.data.fill_(2)
        graph.replay()
        return {"before": before, "after expected 16": out[0].tolist()}


@scenario()
def zero_grad_between() -> Any:
    p = torch.nn.Parameter(ones(4))
    static = p.grad = full(0.0)
    graph, _ = capture(lambda: p.sum().backward())
    graph.replay()
    first = static.tolist()
    p.grad = None
    static.fill_(6)
    graph.replay()
    return {"first": first, "p.grad after None": p.grad, "static buffer": static.tolist()}


@scenario()
def grad_preexisting_accumulates() -> Any:
    p = torch.nn.Parameter(ones(4))
    p.sum().backward()
    graph, _ = capture(lambda: p.sum().backward())
    graph.replay()
    graph.replay()
    assert p.grad is not None
    return {"grad (accumulates)": p.grad.tolist()}


def _deltas(optimizer: Any, p: Any) -> list[float]:
    p.grad = ones(1)
    graph, _ = capture(optimizer.step)
    values = [p.item()]
    for rate in (0.1, 0.0):
        optimizer.param_groups[0]["lr"] = rate
        graph.replay()
        values.append(p.item())
    return [values[0] - values[1], values[1] - values[2]]


@scenario()
def lr_float_baked() -> Any:
    p = torch.nn.Parameter(ones(1))
    first, second = _deltas(torch.optim.Adam([p], lr=0.1, capturable=True), p)
    return {"delta lr=.1": first, "delta after lr=0 (expected 0)": second}


@scenario()
def sgd_lr_baked() -> Any:
    p = torch.nn.Parameter(ones(1))
    return {"delta after lr=0 (expected 0)": _deltas(torch.optim.SGD([p], lr=0.1), p)[1]}


def _graphed(layer: Any = None, requires_grad: bool = False) -> Any:
    sample = ones(4, 4).requires_grad_(requires_grad)
    return torch.cuda.make_graphed_callables(layer or torch.nn.Linear(4, 4).cuda(), (sample,))


@scenario()
def mgc_hooks_before() -> Any:
    layer = torch.nn.Linear(4, 4).cuda()
    layer.register_forward_hook(lambda *_: None)
    _graphed(layer)


@scenario()
def mgc_shape_broadcast() -> Any:
    return list(_graphed()(ones(1, 4)).shape)


@scenario()
def mgc_shape_change() -> Any:
    _graphed()(ones(2, 4))


@scenario()
def mgc_kwargs() -> Any:
    graphed = torch.cuda.make_graphed_callables(lambda input: input * 2, (ones(4),))
    graphed(input=ones(4))


@scenario()
def mgc_eval_after_train() -> Any:
    net = _graphed(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).cuda())
    net.eval()
    return {"deterministic in eval": torch.equal(net(ones(4, 4)), net(ones(4, 4)))}


@scenario()
def mgc_requires_grad_mismatch() -> Any:
    x = ones(4, 4).requires_grad_()
    _graphed()(x).sum().backward()
    return {"x.grad": x.grad is not None}


@scenario()
def mgc_two_outputs_alias() -> Any:
    graphed = _graphed()
    a, b = graphed(ones(4, 4)), graphed(full(2.0, 4, 4))
    return {"a is b memory": a.data_ptr() == b.data_ptr()}


@scenario()
def mgc_double_forward_backward() -> Any:
    layer = torch.nn.Linear(1, 1, bias=False).cuda()
    graphed = torch.cuda.make_graphed_callables(layer, (ones(1, 1),))
    layer.zero_grad()
    (graphed(full(0.0, 1, 1)) + graphed(full(4.0, 1, 1))).sum().backward()
    return {"weight.grad expected 4": layer.weight.grad.item()}
