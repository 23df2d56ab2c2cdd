"""What only runs when something has failed is no more than possible: a warm-up would have shown it."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

PROGRAM = """
import time

import torch


class Tuned:
    def __init__(self, net):
        self.net = net
        self.x = torch.zeros(8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def best(self, name):
        for _ in range(5):
            try:
                {tried}
                return read_table(name)
            except OSError:
                {handled}
        return None

    def run(self):
        return self.net(self.x, self.best("tuned"))

    def capture(self):
        self.run()
        with torch.cuda.graph(self.graph):
            self.y = self.run()


def read_table(name):
    with open(name) as table:
        return table.read()
"""

CALLS = [("time.sleep(0.1)", "CG405"), ("print(self.x.sum().item())", "CG302")]


@pytest.mark.parametrize(("call", "code"), CALLS)
def test_in_a_handler(call: str, code: str) -> None:
    check_marks(PROGRAM.format(tried="pass", handled=f"{call}  # ok: {code}"))


@pytest.mark.parametrize(("call", "code"), CALLS)
def test_in_what_is_tried(call: str, code: str) -> None:
    check_marks(PROGRAM.format(tried=f"{call}  # expect: {code}", handled="pass"))


def test_a_handler_that_is_the_other_answer_to_a_question() -> None:
    asks = PROGRAM.replace("except OSError", "except KeyError")
    check_marks(asks.format(tried="pass", handled="print(self.x.sum().item())  # expect: CG302"))


LOOKUP = """
import torch

TABLE = {{}}


class Step:
    def __init__(self, net):
        self.net = net
        self.x = torch.zeros(8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def scale(self, name):
        try:
            return {sought}
        except {error}:
            torch.cuda.synchronize()  # {mark}: CG301
            {sought} = self.x.abs().max() + 1
            return {sought}

    def run(self):
        return self.net(self.x) / self.scale("all")

    def capture(self):
        {before}
        with torch.cuda.graph(self.graph):
            self.y = self.run()
"""

PLACES = [("TABLE[name]", "KeyError"), ("self.largest", "AttributeError")]


@pytest.mark.parametrize(("sought", "error"), PLACES)
@pytest.mark.parametrize(("before", "mark"), [("self.run()", "ok"), ("pass", "expect")])
def test_a_lookup_that_the_warm_up_has_provided_for(sought: str, error: str, before: str, mark: str) -> None:
    program = LOOKUP.format(sought=sought, error=error, before=before, mark=mark)
    check_marked_rules(program)


@pytest.mark.parametrize(
    ("scales", "index", "mark"),
    [
        ("(8, 4)", 0, "ok"),
        ("(8, 4)", 1, "ok"),
        ("(8, 4)", 2, "expect"),
        ("list(given)", 0, "expect"),
        ("emptied(given)", 0, "expect"),
    ],
)
def test_an_index_that_is_there(scales: str, index: int, mark: str) -> None:
    check_marked_rules(
        f"""
        import torch


        def emptied(flag):
            scales = [8, 4]
            if flag:
                scales.clear()
            return scales


        def scale(of):
            try:
                return of[{index}]
            except IndexError:
                torch.cuda.synchronize()  # {mark}: CG301
                return 1


        def main(given):
            x = torch.zeros(8, 4, device="cuda")
            scales = {scales}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = x * scale(scales)
            graph.replay()
        """
    )


@pytest.mark.parametrize(("pool", "mark"), [("{}", "ok"), ("collections.defaultdict(list)", "expect")])
def test_a_look_up_that_misses_for_certain_runs_its_handler_alone(pool: str, mark: str) -> None:
    """What makes what it lacks misses nothing."""
    check_marked_rules(
        f"""
        import collections
        import torch


        def main(x):
            pool = {pool}
            try:
                held = pool["a"]
            except KeyError:
                return
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                torch.cuda.synchronize()  # {mark}: CG301
            graph.replay()
        """
    )
