"""Loops over objects whose `__iter__` yields: the body runs at each yield, between what is before and after it."""

from __future__ import annotations

import pytest

from tests.programs import check_marks


@pytest.mark.parametrize(
    ("before", "after", "mark"),
    [
        ("pass", "pass", "expect"),
        ("torch.cuda.current_stream().wait_stream(self.side)", "pass", "ok"),
        ("pass", "torch.cuda.current_stream().wait_stream(self.side)", "expect"),
    ],
)
def test_what_comes_before_and_after_the_yield(before: str, after: str, mark: str) -> None:
    check_marks(
        f"""
        import torch

        class Source:
            def __init__(self):
                self.side = torch.cuda.Stream()
                self.fresh = torch.zeros(8, device="cuda")
                self.x = torch.zeros(8, device="cuda")

            def __iter__(self):
                for number in range(3):
                    self.side.wait_stream(torch.cuda.current_stream())
                    with torch.cuda.stream(self.side):
                        self.x.copy_(self.fresh)  # {mark}: CG105
                    {before}
                    yield number
                    {after}

        def main():
            source = Source()
            y = source.x * 2
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = source.x * 2
            for number in source:
                graph.replay()
            return y.clone()
        """,
        select=("CG105",),
    )


@pytest.mark.parametrize("leave", ["continue", "break", "pass"])
def test_a_body_may_be_left(leave: str) -> None:
    """`continue` and `break` belong to the loop over the object, not to one around it."""
    check_marks(
        f"""
        import torch

        class Numbers:
            def __iter__(self):
                yield 1
                yield 2

        def main(rounds: list, flag: bool):
            x = torch.zeros(8, device="cuda")
            y = x * 2
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = x * 2
            kept = []
            for _ in rounds:
                for number in Numbers():
                    if flag:
                        {leave}
                graph.replay()
                kept.append(y)  # expect: CG201
            return kept
        """,
        select=("CG201",),
    )


@pytest.mark.parametrize(
    ("job", "mode", "mark"),
    [
        ("torch.zeros(8).pin_memory()", "", "expect"),
        ("torch.zeros(8).pin_memory()", ', capture_error_mode="thread_local"', "ok"),
        ("torch.zeros(8) + 1", "", "ok"),
    ],
)
def test_jobs_go_on_while_one_of_them_is_used(job: str, mode: str, mark: str) -> None:
    check_marks(
        f"""
        import torch
        from collections import deque
        from concurrent.futures import ThreadPoolExecutor

        def work(number: int):
            return {job}

        class Ahead:
            def __init__(self, count: int):
                self.count = count
                self.pool = ThreadPoolExecutor(4)

            def __iter__(self):
                waiting = deque()
                for number in range(self.count):
                    waiting.append(self.pool.submit(work, number))
                    if len(waiting) > 4:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()

        def main(count: int):
            graph = None
            x = torch.zeros(8, device="cuda")
            y = x * 2
            for batch in Ahead(count):
                if graph is None:
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph{mode}):  # {mark}: CG502
                        y = x * 2
                x.copy_(batch)
                graph.replay()
            return y.clone()
        """,
        select=("CG502",),
    )
