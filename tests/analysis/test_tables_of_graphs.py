"""Graphs that a table keeps, found again with what belongs to them: inputs, numbers, generators."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, check_marks

ENTRIES = """
    import torch

    class Engine:
        def __init__(self, model):
            self.model = model
            self.entries = {{}}

        def __call__(self, sound, lengths):
            key = (tuple(sound.shape), sound.dtype)
            if key not in self.entries:
                own, sizes = sound.clone(), lengths.clone()
                self.model(own, sizes)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    out = self.model(own, sizes)
                self.entries[key] = (graph, own, sizes, out)
            {found}
            own.copy_(sound)
            sizes.copy_(lengths)
            graph.replay()
            return out.clone()
    """


@pytest.mark.parametrize(
    "found",
    [
        "graph, own, sizes, out = self.entries[key]  # ok: CG101",
        "graph, own, sizes, out = self.entries[key]; own = sound.half()  # expect: CG101",
    ],
)
def test_a_name_that_an_entry_gives_back(found: str) -> None:
    check_marked_rules(ENTRIES.format(found=found))


BUCKETS = """
    import torch

    class Steps:
        def __init__(self, model):
            self.model = model
            self.buckets = {{}}
            self.active = None
            self.mask = torch.zeros(1, 512, device="cuda")

        def bucket_for(self, length):
            return next(size for size in (128, 256, 512) if size >= length)

        def entry_of(self, size):
            entry = self.buckets.get(size)
            if entry is None:
                entry = self.buckets[size] = {{"graph": None}}
            return entry

        def one(self):
            self.out = self.model(self.mask[:, : self.active])  # {mark}: CG402

        def prepare(self, length):
            size = self.bucket_for(length)
            entry = self.entry_of({key})
            if entry["graph"] is not None:
                return
            self.active = size
            self.one()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.one()
            entry["graph"] = graph

        def run(self, length, kind):
            self.active = self.bucket_for(length)
            self.buckets[{chosen}]["graph"].replay()
    """


@pytest.mark.parametrize(
    ("key", "chosen", "mark"), [("size", "self.active", "ok"), ("'only'", "'only'", "expect")]
)
def test_a_number_that_is_the_key_of_the_dict_that_holds_the_graph(key: str, chosen: str, mark: str) -> None:
    check_marked_rules(BUCKETS.format(key=key, chosen=chosen, mark=mark))


GENERATORS = """
    import torch

    class Noise:
        def __init__(self, first: torch.Tensor):
            self.noise = torch.ones(8, 4, device="cuda")
            self.sources = None
            if hasattr(torch.cuda.CUDAGraph, "register_generator_state"):
                self.sources = [torch.Generator(device="cuda") for _ in range(first.shape[0])]
                self.fill()
            self.graph = torch.cuda.CUDAGraph()
            if self.sources is not None:
                for source in self.sources:
                    {registered}
            with torch.cuda.graph(self.graph):
                if self.sources is not None:
                    self.fill()
                self.out = self.noise * 2

        def fill(self):
            for row, source in enumerate(self.sources):
                self.noise[row].exponential_(generator=source)  # {mark}: CG503
    """


@pytest.mark.parametrize(
    ("registered", "mark"), [("self.graph.register_generator_state(source)", "ok"), ("pass", "expect")]
)
def test_generators_of_a_list_that_may_be_none(registered: str, mark: str) -> None:
    check_marked_rules(GENERATORS.format(registered=registered, mark=mark))


DEMANDED = """
    import torch

    class Decoder:
        def __init__(self):
            self.graphs = {{}}
            self.x = torch.zeros(8, device="cuda")

        def capture(self):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # {mark}: CG607
                self.out = self.x * 2
            return graph

        def replay(self, length):
            {found}
            if {test}:
                self.graphs[length] = graph = self.capture()
            graph.replay()

    def generate(decoder: Decoder, start):
        for step in range(4096):
            decoder.replay(start + step)
    """


@pytest.mark.parametrize(
    ("found", "test", "mark"),
    [
        ("graph = self.graphs.get(length)", "graph is None", "ok"),
        ("graph = None", "length % 1 == 0", "expect"),
    ],
)
def test_graphs_that_are_captured_when_they_are_asked_for(found: str, test: str, mark: str) -> None:
    check_marks(DEMANDED.format(found=found, test=test, mark=mark), select=("CG607",))
