"""CG201: outputs of a graph that outlive the next replay."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules
from tests.rules.conftest import Shows

LOOP = """\
import torch


def run(net: torch.nn.Module, batches: list[torch.Tensor]):
    x = torch.zeros(32, 16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.relu(net(x))
        loss = y.mean()
    kept, last, table = [], None, {{}}
    for step, batch in enumerate(batches):
        x.copy_(batch)
        graph.replay()
        {statement}  # {mark}
    return kept, {use}
"""


@pytest.mark.parametrize(
    ("statement", "use"),
    [
        ("kept.append(y)", "torch.stack(kept)"),
        ("kept.append(loss)", "sum(kept)"),
        ("kept.append(y[:4])", "torch.cat(kept)"),
        ("kept.append(y.detach())", "torch.stack(kept)"),
        ("kept.append(y.view(-1))", "torch.stack(kept)"),
        ("kept += [y]", "torch.stack(kept)"),
        ("table[step] = y", "torch.stack(list(table.values()))"),
        ("kept.append((step, y))", "[value.sum() for _, value in kept]"),
        ("kept.append({'loss': loss})", "[entry['loss'] + 1 for entry in kept]"),
    ],
)
def test_reported(statement: str, use: str) -> None:
    check_marked_rules(LOOP.format(statement=statement, mark="expect: CG201", use=use))


@pytest.mark.parametrize(
    ("statement", "use"),
    [
        ("kept.append(y.clone())", "torch.stack(kept)"),
        ("kept.append(loss.item())", "sum(kept)"),
        ("kept.append(y.cpu())", "torch.stack(kept)"),
        ("kept.append(y + 0)", "torch.stack(kept)"),
        ("kept.append(y.shape)", "kept"),
        ("last = y", "last.sum()"),
        ("print(loss)", "loss.sum()"),
        ("kept.append(batch)", "torch.stack(kept)"),
    ],
)
def test_fine(statement: str, use: str) -> None:
    check_marked_rules(LOOP.format(statement=statement, mark="ok: CG201", use=use))


def test_an_attribute_of_another_object_keeps_the_output() -> None:
    check_marked_rules(
        """
        import torch


        class Logger:
            def __init__(self):
                self.previous = None

            def log(self, loss: torch.Tensor):
                if self.previous is not None:
                    print(loss - self.previous)
                self.previous = loss  # expect: CG201


        class Trainer:
            def __init__(self, net: torch.nn.Module, logger: Logger):
                self.logger = Logger()
                self.x = torch.zeros(4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.loss = net(self.x).mean()

            def step(self, x: torch.Tensor):
                self.x.copy_(x)
                self.graph.replay()
                self.logger.log(self.loss)
        """
    )


ACROSS_FILES = {
    "decoder.py": """\
        import torch


        class Decoder:
            def __init__(self, net: torch.nn.Module):
                self.tokens = torch.zeros(8, dtype=torch.long, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.logits = net(self.tokens)

            def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
                self.tokens.copy_(tokens)
                self.graph.replay()
                return self.logits[: tokens.shape[0]]
        """,
    "compare.py": """\
        import torch

        from decoder import Decoder


        def drift(net: torch.nn.Module, first: torch.Tensor, second: torch.Tensor):
            decoder = Decoder(net)
            before = decoder(first)
            after = decoder(second)
            return (after - before).abs().max()
        """,
}


def test_across_files(shows: Shows) -> None:
    shows("CG201-across-files", ACROSS_FILES)


def test_suppressed() -> None:
    statement = "kept.append(y)  # graphlint: ignore[CG201] -- only the last one is used"
    check_marked_rules(LOOP.format(statement=statement, mark="ok: CG201", use="torch.stack(kept)"))


KEEPING = """
import torch

class Runner:
    def __init__(self):
        self.x = torch.zeros(4, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2
        self.history = []

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        self.history.append(self.y{copied})  # {mark}: CG201

    def {name}(self):
        {read}
"""


@pytest.mark.parametrize("copied", ["", ".clone()"])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("stacked", "return torch.stack(self.history)"),
        ("norms", "return [h.norm() for h in self.history]"),
        ("changes", "return [(a - b).norm() for a, b in zip(self.history, self.history[1:])]"),
        ("latest_change", "return self.history[-1] - self.history[-2]"),
    ],
)
def test_outputs_kept_in_one_method_and_read_in_another(copied: str, name: str, read: str) -> None:
    mark = "ok" if copied else "expect"
    check_marked_rules(KEEPING.format(copied=copied, mark=mark, name=name, read=read))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("count", "return len(self.history)"),
        ("take", "taken, self.history = self.history, []\n        return torch.stack(taken)"),
    ],
)
def test_what_is_kept_and_taken_away_before_the_next_replay(name: str, read: str) -> None:
    check_marked_rules(KEEPING.format(copied="", mark="ok", name=name, read=read))


PARTLY_COPIED = """
    import torch

    class Depth:
        def __init__(self, model):
            self.model = model
            self.hidden = torch.zeros(1, 8, device="cuda")
            self.model(self.hidden)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.codes, self.embeds = self.model(self.hidden)

        def run(self, hidden):
            self.hidden.copy_(hidden)
            self.graph.replay()
            return self.codes.clone(), self.embeds  # {mark}: CG201

    class Talker:
        def __init__(self, depth):
            self.depth = {made}

        def step(self, hidden):
            codes, embeds = self.depth.run(hidden)
            return codes, embeds.sum(dim=0)
    """


@pytest.mark.parametrize(("made", "mark"), [("Depth(depth)", "ok"), ("depth", "expect")])
def test_what_is_returned_in_part_as_a_copy_is_judged_where_the_project_uses_it(made: str, mark: str) -> None:
    check_marked_rules(PARTLY_COPIED.format(made=made, mark=mark))


TRIMMED = """
    import torch

    class Decoder:
        def __init__(self, model):
            self.model = model
            self.codes = torch.zeros(1, 64, device="cuda")
            self.model(self.codes)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.model(self.codes)

        def trim(self, out):
            return out[..., :8]

        def decode(self, codes):
            self.codes.copy_(codes)
            self.graph.replay()
            return self.trim(self.out)

        def long(self, codes):
            parts = []
            for part in codes.split(64):
                parts.append(self.decode(part){copied})  # {mark}: CG201
            for part in codes.split(64):
                parts.append(self.decode(part){copied})  # {mark}: CG201
            return torch.cat(parts)
    """


@pytest.mark.parametrize(("copied", "mark"), [(".clone()", "ok"), ("", "expect")])
def test_a_helper_that_is_called_for_each_part(copied: str, mark: str) -> None:
    check_marked_rules(TRIMMED.format(copied=copied, mark=mark))
