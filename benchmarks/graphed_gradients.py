"""What `.grad` is after backward passes that are replayed, compared with the same module run eagerly.

`python benchmarks/graphed_gradients.py [--virtual]` prints a table in Markdown. Each row is a way to treat
the gradients of two batches, for a module from `make_graphed_callables` and for one that is compiled with
`mode="reduce-overhead"`; the columns say whether the gradients are those of eager code, whether they are
twice those of the last batch, and whether `.grad` shares memory with a buffer of the graph.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

Module = Any


def both(net: Module, batches: list[torch.Tensor]) -> None:
    for batch in batches:
        net(batch).sum().backward()


def dropped_first(net: Module, batches: list[torch.Tensor]) -> None:
    net.zero_grad(set_to_none=True)
    both(net, batches)


def zeroed_in_place(net: Module, batches: list[torch.Tensor]) -> None:
    net.zero_grad(set_to_none=True)
    net(batches[0]).sum().backward()
    net.zero_grad(set_to_none=False)
    net(batches[1]).sum().backward()


def dropped_between(net: Module, batches: list[torch.Tensor]) -> None:
    for batch in batches:
        net.zero_grad(set_to_none=True)
        net(batch).sum().backward()


def own_memory(net: Module, batches: list[torch.Tensor]) -> None:
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    both(net, batches)


def copied_by_a_hook(net: Module, batches: list[torch.Tensor]) -> None:
    handles = [each.register_hook(lambda gradient: gradient.clone()) for each in net.parameters()]
    dropped_first(net, batches)
    for handle in handles:
        handle.remove()


WAYS: dict[str, Callable[[Module, list[torch.Tensor]], None]] = {
    "two backward passes after `zero_grad()`": dropped_first,
    "`zero_grad(set_to_none=False)` between them": zeroed_in_place,
    "`zero_grad()` between them": dropped_between,
    "`p.grad = torch.zeros_like(p)` before both": own_memory,
    "a hook that clones the gradients": copied_by_a_hook,
}


def gradients(net: Module) -> list[torch.Tensor]:
    return [each.grad.clone() for each in net.parameters()]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.allclose(left, right, rtol=1e-4, atol=1e-5) for left, right in zip(one, other))


def shares_memory(net: Module, batches: list[torch.Tensor]) -> bool:
    """Whether one more backward pass with gradients kept aside changes what they were."""
    kept = [each.grad for each in net.parameters()]
    before = [each.clone() for each in kept]
    net.zero_grad(set_to_none=True)
    net(batches[0] * 3).sum().backward()
    try:
        return not same(kept, before)
    except RuntimeError:  # torch says that the memory was overwritten
        return True


def graphed(net: Module, sample: torch.Tensor) -> Module:
    return torch.cuda.make_graphed_callables(net, (sample,))


def compiled(net: Module, sample: torch.Tensor) -> Module:
    made = torch.compile(net, mode="reduce-overhead")
    for _ in range(4):
        made(sample).sum().backward()
        net.zero_grad(set_to_none=True)
    return made


def answers(make: Callable[..., Module], way: Callable[..., None]) -> list[str]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)).cuda()
    eager = copy.deepcopy(net)
    batches = [torch.randn(6, 8, device="cuda") for _ in range(2)]
    replayed = make(net, torch.randn(6, 8, device="cuda"))
    way(eager, batches)
    try:
        way(replayed, batches)
        found = gradients(replayed)
    except RuntimeError as error:
        return [f"{type(error).__name__}: {str(error).split('.')[0]}", "", ""]
    expected = gradients(eager)
    eager.zero_grad()
    eager(batches[-1]).sum().backward()
    twice = [2 * each for each in gradients(eager)]
    said = same(found, expected), same(found, twice), shares_memory(replayed, batches)
    return ["yes" if answer else "no" for answer in said]


def main() -> None:
    from graphlint.sentinel import virtual_cuda

    with virtual_cuda() if "--virtual" in sys.argv else nullcontext():
        print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}\n")
        for make in (graphed,) if "--virtual" in sys.argv else (graphed, compiled):
            print(f"| {make.__name__} | as in eager code | twice the last | shares memory with the graph |")
            print("|---|---|---|---|")
            for name, way in WAYS.items():
                print(f"| {name} |", " | ".join(answers(make, way)), "|", flush=True)
            print()


if __name__ == "__main__":
    main()
