"""Caches that return what they have found: what follows the look-up has run in the warm-up."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules

POINTERS = """
    import torch

    KNOWN: dict[tuple[int, ...], tuple[torch.Tensor, int]] = {{}}

    def pointers(weights: list[torch.Tensor], device):
        key = tuple(weight.data_ptr() for weight in weights)
        {found}
        addresses, strides = [], []
        for weight in weights:
            addresses.append(weight.data_ptr())
            strides.append(weight.stride(0))
        table = torch.tensor(addresses, device=device)  # {mark}: CG306
        {kept}
        return table, strides[0]

    class Runner:
        def __init__(self, model, weights: list[torch.Tensor]):
            self.model, self.weights = model, weights
            self.x = torch.zeros(64, 8, device="cuda")

        def body(self):
            table, stride = pointers(self.weights, self.x.device)
            return self.model(self.x, table)

        def capture(self):
            {warmup}
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.body()

        def run(self, x):
            self.x.copy_(x)
            self.graph.replay()
            return self.out.clone()
    """
KEPT = "KNOWN[key] = (table, strides[0])"


@pytest.mark.parametrize(
    ("found", "kept", "warmup", "mark"),
    [
        ("if values := KNOWN.get(key): return values", KEPT, "self.body()", "ok"),
        ("if key in KNOWN: return KNOWN[key]", KEPT, "self.body()", "ok"),
        ("if values := KNOWN.get(key): return values", KEPT, "pass", "expect"),
        ("if values := KNOWN.get(key): return values", "pass", "self.body()", "expect"),
    ],
)
def test_a_look_up_that_returns_what_it_found(found: str, kept: str, warmup: str, mark: str) -> None:
    check_marked_rules(POINTERS.format(found=found, kept=kept, warmup=warmup, mark=mark))


PARTS = """
    import torch

    class Plan:
        def __init__(self, slots: torch.Tensor, is_empty: bool):
            self.slots, self.is_empty = slots, is_empty

        def parts(self):
            return ({parts})

    def expand(x: torch.Tensor, slots: torch.Tensor, is_empty: bool):
        if is_empty:  # {mark}: CG401
            return x
        return x + slots

    class Runner:
        def __init__(self, slots: torch.Tensor):
            self.x = torch.zeros(8, device="cuda")
            self.one, self.other = Plan(slots, False), Plan(slots, False)

        def capture(self, second: bool):
            plan = self.one if second else self.other
            expand(self.x, *plan.parts())
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = expand(self.x, *plan.parts())

        def run(self, x):
            self.x.copy_(x)
            self.graph.replay()
            return self.out.clone()
    """


@pytest.mark.parametrize(
    ("parts", "mark"),
    [("self.slots, self.is_empty", "ok"), ("self.slots, self.slots.cuda().any()", "expect")],
)
def test_one_of_several_tuples_keeps_its_places(parts: str, mark: str) -> None:
    check_marked_rules(PARTS.format(parts=parts, mark=mark))


DELETED = """
    import torch

    class Decoder:
        def __init__(self, model):
            self.model = model
            self.x = torch.zeros(1, 1, device="cuda")
            self.graph = None

        def begin(self, count: int):
            self.position = torch.arange(count, device="cuda")  # expect: CG101

        def step(self, token):
            self.x.copy_(token)
            if self.graph is None:
                self.model(self.x, self.position)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.out = self.model(self.x, self.position)
            self.graph.replay()
            return self.out.clone()

        def finish(self):
            del self.position  # expect: CG101

        def go_on(self):
            self.position += 1  # ok: CG101

        def run(self, prompts: list[torch.Tensor]):
            for prompt in prompts:
                self.begin(4)
                self.step(prompt)
                self.finish()
    """


def test_what_is_deleted_is_not_added_to() -> None:
    check_marked_rules(DELETED)
