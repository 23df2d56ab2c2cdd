"""Where a region may stand: module level, scripts, tests, nested functions, notebooks."""

from __future__ import annotations

from tests.programs import check_marked_rules


def test_a_script_at_module_level() -> None:
    check_marked_rules(
        """
import torch

net = torch.nn.Linear(4, 4).cuda()
x = torch.zeros(2, 4, device="cuda")
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = net(x)
    y.sum().item()  # expect: CG302
outputs = []
for step in range(10):
    x.copy_(torch.randn(2, 4))
    g.replay()
    outputs.append(y)  # expect: CG201
print(y.sum().item())  # ok: CG302
print(outputs[0])
"""
    )


def test_a_script_that_rebinds_at_module_level() -> None:
    check_marked_rules(
        """
import torch

x = torch.zeros(2, 4, device="cuda")
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = x * 2
for step in range(10):
    x = torch.randn(2, 4, device="cuda")  # expect: CG101
    g.replay()
"""
    )


def test_a_script_that_writes_at_module_level() -> None:
    check_marked_rules(
        """
import torch

x = torch.zeros(2, 4, device="cuda")
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = x * 2
for step in range(10):
    x.copy_(torch.randn(2, 4))  # ok: CG101
    g.replay()
    print(y.clone())
"""
    )


def test_the_main_guard() -> None:
    check_marked_rules(
        """
import torch


def step(x):
    return x.sum().item()  # expect: CG302


if __name__ == "__main__":
    x = torch.zeros(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        step(x)
"""
    )


def test_a_main_function_called_under_the_guard() -> None:
    check_marked_rules(
        """
import argparse

import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    x = torch.zeros(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = x * 2
        torch.cuda.synchronize()  # expect: CG301
    for _ in range(args.steps):
        x = torch.ones(4, device="cuda")  # expect: CG101
        g.replay()


if __name__ == "__main__":
    main()
"""
    )


def test_a_region_in_a_test_function() -> None:
    check_marked_rules(
        """
import unittest

import torch


def test_capture():
    x = torch.zeros(4, device="cuda")
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        assert (x > 0).all()  # expect: CG401
    assert (x > 0).all()  # ok: CG401


class CaptureTest(unittest.TestCase):
    def setUp(self):
        self.x = torch.zeros(4, device="cuda")

    def test_capture(self):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            y = self.x * 2
            y.sum().item()  # expect: CG302
        g.replay()
        self.assertEqual(y.sum().item(), 0)  # ok: CG302
"""
    )


def test_a_region_in_a_nested_function() -> None:
    check_marked_rules(
        """
import torch


def build(net: torch.nn.Module):
    x = torch.zeros(4, device="cuda")

    def record(g):
        with torch.cuda.graph(g):
            y = net(x)
            y.sum().item()  # expect: CG302
        return y

    def unused(g):
        return x.sum().item()  # ok: CG302

    g = torch.cuda.CUDAGraph()
    return record(g)
"""
    )


def test_a_nested_function_that_nobody_calls() -> None:
    check_marked_rules(
        """
import torch


def register(hooks):
    x = torch.zeros(4, device="cuda")

    def record(g):
        with torch.cuda.graph(g):
            x.sum().item()  # expect: CG302
        x.sum().item()  # ok: CG302

    hooks.append(record)
"""
    )


def test_cells_of_a_notebook() -> None:
    check_marked_rules(
        """
# %%
import torch

net = torch.nn.Linear(4, 4).cuda()


# %%
def make(x):
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = net(x)
    return g, y


# %%
x = torch.zeros(2, 4, device="cuda")
g, y = make(x)

# %%
kept = []
for _ in range(3):
    g.replay()
    kept.append(y)  # expect: CG201
kept[0].sum()
"""
    )
