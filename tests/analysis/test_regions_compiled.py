"""`torch.compile` with CUDA graphs: the rules on outputs, and tensors that compiled code leaves behind."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, regions

WITH_GRAPHS = {
    "mode": 'torch.compile(step, mode="reduce-overhead")',
    "autotune": 'torch.compile(step, mode="max-autotune")',
    "options": 'torch.compile(step, options={"triton.cudagraphs": True})',
    "backend": 'torch.compile(step, backend="cudagraphs")',
    "decorator form": 'torch.compile(mode="reduce-overhead")(step)',
    "partial": 'functools.partial(torch.compile, mode="reduce-overhead")(step)',
    "renamed": 'compile_(step, mode="reduce-overhead")',
}
WITHOUT = {
    "default": "torch.compile(step)",
    "no graphs": 'torch.compile(step, mode="max-autotune-no-cudagraphs")',
    "options": 'torch.compile(step, options={"triton.cudagraphs": False})',
    "disabled": 'torch.compile(step, mode="reduce-overhead", disable=True)',
    "other backend": 'torch.compile(step, backend="eager")',
}
PROGRAM = """
import functools

import torch
from torch import compile as compile_


def step(x):
    return x * 2


def main(batches):
    fast = {made}
    kept = []
    for batch in batches:
        kept.append(fast(batch))  # {word}: CG201
    return torch.stack(kept)
"""


@pytest.mark.parametrize("made", WITH_GRAPHS.values(), ids=WITH_GRAPHS)
def test_outputs_live_until_the_next_call(made: str) -> None:
    check_marked_rules(PROGRAM.format(made=made, word="expect"))


@pytest.mark.parametrize("made", WITHOUT.values(), ids=WITHOUT)
def test_without_graphs_outputs_are_ordinary_tensors(made: str) -> None:
    check_marked_rules(PROGRAM.format(made=made, word="ok") + '\nNAMES = ("reduce-overhead",)\n')


SWITCHES = {
    "inductor": "torch._inductor.config.triton.cudagraphs = True",
    "imported": "import torch._inductor.config as config\nconfig.triton.cudagraphs = True",
    "from import": "from torch._inductor import config\nconfig.triton.cudagraphs = True",
}


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=SWITCHES)
def test_the_setting_of_the_compiler(switch: str) -> None:
    program = PROGRAM.format(made="torch.compile(step)", word="expect")
    check_marked_rules(program.replace("\n\ndef step", f"\n{switch}\n\n\ndef step", 1))


def test_a_decorated_function() -> None:
    check_marked_rules(
        """
import torch


@torch.compile(mode="reduce-overhead")
def fast(x):
    return x * 2


@torch.compile
def slow(x):
    return x * 2


def main(batches):
    kept, fine = [], []
    for batch in batches:
        kept.append(fast(batch))  # expect: CG201
        fine.append(slow(batch))  # ok: CG201
    return torch.stack(kept), torch.stack(fine)
"""
    )


def test_a_compiled_module_and_method() -> None:
    check_marked_rules(
        """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.forward = torch.compile(self.forward, mode="reduce-overhead")

    def forward(self, x):
        return x * 2


def main(batches, other: torch.nn.Module):
    net = Net().cuda()
    other = torch.compile(other, mode="reduce-overhead")
    kept, more, fine = [], [], []
    for batch in batches:
        kept.append(net(batch))  # expect: CG201
        more.append(other(batch))  # expect: CG201
        fine.append(net(batch).clone())  # ok: CG201
    return torch.stack(kept), torch.stack(more), torch.stack(fine)
"""
    )


def test_inside_a_compiled_callable_the_compiler_guards_host_values() -> None:
    check_marked_rules(
        """
import torch


@torch.compile(mode="reduce-overhead")
def fast(x, n: int):
    if n > 4:
        x = x * n  # ok: CG402
    return x.sum().item()  # ok: CG302


def main(x: torch.Tensor):
    for n in range(100):
        fast(x, n)
"""
    )


def test_tensors_stored_in_attributes_are_overwritten() -> None:
    check_marked_rules(
        """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = None
        self.last = None

    def forward(self, x):
        h = x * 2
        if self.first is None:
            self.first = h  # expect: CG201
        self.last = h  # ok: CG201
        return h + 1


def main(batches: list[torch.Tensor]):
    net = Net().cuda()
    fast = torch.compile(net, mode="reduce-overhead")
    for batch in batches:
        fast(batch).clone()
    print(net.first.sum())
    print(net.last.sum())
"""
    )


def test_tensors_stored_in_dicts_and_globals_are_overwritten() -> None:
    check_marked_rules(
        """
import torch

CACHE = {}
TABLE = None
COPIED = None


@torch.compile(mode="reduce-overhead")
def fast(x):
    global TABLE, COPIED
    if "h" not in CACHE:
        CACHE["h"] = x * 2  # expect: CG201
    if TABLE is None:
        TABLE = x * 3  # expect: CG201
    return CACHE["h"] + TABLE


def main(batches: list[torch.Tensor]):
    for batch in batches:
        fast(batch).clone()
    print(CACHE["h"].sum(), TABLE.sum())
"""
    )


def test_a_compiled_region_is_of_its_own_kind() -> None:
    program = PROGRAM.format(made='torch.compile(step, mode="reduce-overhead")', word="expect")
    assert [region.kind for region in regions(program)] == ["torch.compile"]
