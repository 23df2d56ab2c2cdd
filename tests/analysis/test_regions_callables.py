"""`make_graphed_callables`: functions, modules and tuples of them become callables that replay."""

from __future__ import annotations

from tests.programs import check_marked_rules


def test_a_function() -> None:
    check_marked_rules(
        """
import torch


def step(x):
    return x * x.max().item()  # expect: CG302


def eager(x):
    return x * x.max().item()  # ok: CG302


def main():
    x = torch.zeros(4, device="cuda")
    fast = torch.cuda.make_graphed_callables(step, (x,))
    eager(x)
    return fast(x).clone()
"""
    )


def test_a_module_and_its_methods() -> None:
    check_marked_rules(
        """
import torch
from torch.cuda import make_graphed_callables as graphed


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.mix(self.fc(x))

    def mix(self, x):
        return x if x.sum() > 0 else -x  # expect: CG401

    def describe(self, x):
        return x if x.sum() > 0 else -x  # ok: CG401


def main():
    net = Net().cuda()
    x = torch.zeros(2, 4, device="cuda")
    net.describe(x)
    net = graphed(net, (x,))
    return net(x)
"""
    )


def test_a_tuple_of_callables() -> None:
    check_marked_rules(
        """
import torch


class Encoder(torch.nn.Module):
    def forward(self, x):
        return x.nonzero()  # expect: CG305


class Decoder(torch.nn.Module):
    def forward(self, x):
        return x.unique()  # expect: CG305


class Idle(torch.nn.Module):
    def forward(self, x):
        return x.unique()  # ok: CG305


def main():
    encoder, decoder, idle = Encoder().cuda(), Decoder().cuda(), Idle().cuda()
    x = torch.zeros(2, 4, device="cuda")
    idle(x)
    encoder, decoder = torch.cuda.make_graphed_callables((encoder, decoder), ((x,), (x,)))
    return decoder(encoder(x))
"""
    )


def test_the_returned_callable_replays() -> None:
    check_marked_rules(
        """
import torch


def step(x):
    return x * 2


def main(batches):
    x = torch.zeros(4, device="cuda")
    fast = torch.cuda.make_graphed_callables(step, (x,))
    kept = []
    for batch in batches:
        kept.append(fast(batch))  # expect: CG201
    return torch.stack(kept)


def copied(batches):
    x = torch.zeros(4, device="cuda")
    fast = torch.cuda.make_graphed_callables(step, (x,))
    kept = []
    for batch in batches:
        kept.append(fast(batch).clone())  # ok: CG201
    return torch.stack(kept)


def eager(batches):
    kept = []
    for batch in batches:
        kept.append(step(batch))  # ok: CG201
    return torch.stack(kept)
"""
    )


def test_a_graphed_module_replays_under_its_old_name() -> None:
    check_marked_rules(
        """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(4, device="cuda")

    def forward(self, x):
        return x * self.scale


def main(batches):
    net = Net()
    torch.cuda.make_graphed_callables(net, (torch.zeros(4, device="cuda"),))
    net.scale = torch.zeros(4, device="cuda")  # expect: CG101
    for batch in batches:
        net(batch)


def before(batches):
    net = Net()
    net.scale = torch.zeros(4, device="cuda")  # ok: CG101
    torch.cuda.make_graphed_callables(net, (torch.zeros(4, device="cuda"),))
    for batch in batches:
        net(batch)
"""
    )


def test_attributes_of_a_graphed_module_stay() -> None:
    check_marked_rules(
        """
import torch


class Trainer:
    def __init__(self, net: torch.nn.Module):
        x = torch.zeros(2, 4, device="cuda")
        self.net = torch.cuda.make_graphed_callables(net, (x,))
        self.table = torch.zeros(4, device="cuda")

    def step(self, x: torch.Tensor):
        self.table = torch.ones(4, device="cuda")  # ok: CG101
        return self.net(x) + self.table
"""
    )


def test_sample_keywords() -> None:
    check_marked_rules(
        """
import torch
from transformer_engine.pytorch import make_graphed_callables


class Layer(torch.nn.Module):
    def forward(self, x, mask=None):
        if mask is not None:
            x = x[mask.nonzero()]  # expect: CG305
        return x


class Plain(torch.nn.Module):
    def forward(self, x, mask=None):
        if mask is not None:
            x = x[mask.nonzero()]  # ok: CG305
        return x


def main():
    x = torch.zeros(2, 4, device="cuda")
    layer = make_graphed_callables(Layer().cuda(), (x,), sample_kwargs={"mask": x > 0})
    plain = make_graphed_callables(Plain().cuda(), (x,))
    return layer, plain
"""
    )
