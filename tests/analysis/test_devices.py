"""The device of a value: known only where every way to it agrees."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

PROGRAM = """
import torch

def step(x: torch.Tensor, here: bool, other):
    {device}
    host = torch.zeros((), device=device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.where(x > 0, x.cuda(), host)  # {mark}: CG306
    return graph, y
"""


@pytest.mark.parametrize(
    ("device", "mark"),
    [
        ('device = "cpu"', "expect"),
        ('device = "cpu" if here else "cuda"', "ok"),
        ('device = "cpu" if here else other.device', "ok"),
        ("device = x.to(torch.get_autocast_dtype('cuda')).device", "ok"),
    ],
)
def test_a_device_that_may_be_another_is_unknown(device: str, mark: str) -> None:
    check_marks(PROGRAM.format(device=device, mark=mark), select=("CG306",))


@pytest.mark.parametrize(("pinned", "mark"), [("True", "ok"), ("False", "expect")])
def test_host_memory_is_pinned_whether_or_not_its_device_is_named(pinned: str, mark: str) -> None:
    check_marks(
        f"""
        import torch

        def record(x: torch.Tensor):
            host = torch.zeros(4, device="cpu", pin_memory={pinned})
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                host.copy_(x.cuda(), non_blocking=True)  # {mark}: CG303
            return graph
        """,
        select=("CG303",),
    )


@pytest.mark.parametrize(
    ("device", "mark"),
    [('"cuda"', "expect"), ("other.device", "expect"), ('"cpu" if here else "cuda"', "ok")],
)
def test_nothing_is_claimed_of_memory_that_the_program_places(device: str, mark: str) -> None:
    check_marks(
        f"""
        import torch

        def step(x: torch.Tensor, here: bool, other):
            counts = torch.zeros(4, device={device})
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                n = counts.sum().item()  # {mark}: CG302
            return graph, counts
        """,
        select=("CG302",),
    )


def test_what_is_made_like_an_unknown_value_is_not_taken_to_be_on_the_host() -> None:
    check_marks(
        """
import torch

class Encoder:
    def __init__(self, model):
        self.model = model

    def capture(self, x: torch.Tensor):
        made = self.model.encode()
        kept = torch.empty_like(made)
        plain = torch.empty(4)
        self.model.encode(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.model.encode(x)
            kept.copy_(y)  # ok: CG303
            plain.copy_(x.cuda())  # expect: CG303
        return graph, kept
""",
        select=("CG303",),
    )


def test_a_value_that_may_be_on_either_side_copies_nothing_for_certain() -> None:
    program = """
        import torch

        def combine(x: torch.Tensor, on_host: bool):
            return torch.zeros(4, 4) if on_host else x * 2

        def capture(x: torch.Tensor, on_host: bool):
            out = torch.zeros(8, 4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out[:4] = combine(x, on_host)  # ok: CG306
                out[4:] = torch.zeros(4, 4)  # expect: CG306
            return graph, out
    """
    check_marked_rules(program)


@pytest.mark.parametrize(("source", "mark"), [("images", "ok"), ("torch.zeros(4, 3, 8, 8)", "expect")])
def test_what_is_made_of_something_unknown_need_not_be_on_the_cpu(source: str, mark: str) -> None:
    check_marked_rules(f"""
        import torch
        from torch.nn import functional

        def capture(images):
            x = functional.interpolate({source}, size=(4, 4))
            table = torch.zeros(10, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = table[torch.randint(0, 10, (4,), device=x.device)]  # {mark}: CG306
            return graph, y
    """)
