"""State that captured code binds to new memory: each replay starts again from the memory of the capture."""

from __future__ import annotations

import pytest

from tests.programs import check_marks

PROGRAM = """
import torch

class Recurrent:
    def __init__(self, width: int):
        self.start = torch.zeros(width, device="cuda")
        self.h = self.start
        self.x = torch.zeros(width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def body(self):
        {store}  # {mark}: CG101
        return self.h

    def capture(self):
        self.body()
        with torch.cuda.graph(self.graph):
            self.y = self.body()

    def __call__(self, x):
        self.x.copy_(x)
        {before}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("store", "before", "mark"),
    [
        ("self.h = torch.tanh(self.h + self.x)", "pass", "expect"),
        ("self.h.copy_(torch.tanh(self.h + self.x))", "pass", "ok"),
        ("self.h = self.x + 1", "pass", "ok"),
        ("self.h = self.h.to(torch.float32)", "pass", "ok"),
    ],
)
def test_state_is_carried_in_place_or_not_at_all(store: str, before: str, mark: str) -> None:
    check_marks(PROGRAM.format(store=store, before=before, mark=mark), select=("CG101",))


def test_state_may_be_copied_back_before_each_replay() -> None:
    check_marks(
        """
        import torch

        class Sampler:
            def __init__(self, width: int):
                self.latent = torch.zeros(width, device="cuda")
                self.given = self.latent
                self.graph = torch.cuda.CUDAGraph()

            def capture(self):
                with torch.cuda.graph(self.graph):
                    self.latent = self.latent * 0.5

            def __call__(self, x):
                self.given.copy_(x)
                self.graph.replay()
                return self.latent.clone()
        """,
        select=("CG101",),
    )


LIST = """
import torch

class Caches:
    def __init__(self, depth: int):
        self.keys = [torch.zeros(4, device="cuda") for _ in range(depth)]

    def add(self, layer: int, key):
        {store}  # {mark}: CG101
        return self.keys[layer]

class Runner:
    def __init__(self, depth: int):
        self.caches = Caches(depth)
        self.depth = depth
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def run(self):
        y = self.x
        for layer in range(self.depth):
            y = y + self.caches.add(layer, y).sum()
        return y

    def capture(self):
        self.run()
        with torch.cuda.graph(self.graph):
            self.y = self.run()

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("store", "mark"),
    [
        ("self.keys[layer] = torch.cat([self.keys[layer], key])", "expect"),
        ("self.keys[layer].copy_(key)", "ok"),
    ],
)
def test_state_in_a_list(store: str, mark: str) -> None:
    check_marks(LIST.format(store=store, mark=mark), select=("CG101",))


@pytest.mark.parametrize(
    ("store", "mark"),
    [
        ('kept["state"] = torch.tanh(kept["state"] + kept["x"])', "expect"),
        ('kept["state"].copy_(torch.tanh(kept["state"] + kept["x"]))', "ok"),
        ('kept["state"] = torch.zeros_like(kept["x"])', "ok"),
    ],
)
def test_an_entry_that_is_filled_after_captured_code_has_bound_it_anew(store: str, mark: str) -> None:
    check_marks(
        f"""
        import torch

        def body(kept):
            {store}  # {mark}: CG101

        def main(rows):
            kept = {{"x": torch.zeros(4, device="cuda"), "state": torch.zeros(4, device="cuda")}}
            body(dict(kept))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                body(kept)
            for name, value in next(rows).items():
                kept[name].copy_(value)
            graph.replay()
            return kept["state"].clone()
        """,
        select=("CG101",),
    )
