"""A project that is edited at random: what an editor, a rename or a checkout does to files between two runs."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

PROGRAM = {
    "serving/__init__.py": "",
    "serving/settings.py": """
        import os

        DEBUG = False
        PADDED = 8
        SIZES = [1, 2, 4]

        class Settings:
            hidden: int = 16
            eager: bool = False

            def __init__(self, hidden: int = 16, eager: bool = False):
                self.hidden = hidden
                self.eager = eager
                self.rounds = int(os.environ.get("ROUNDS", "3"))

            def describe(self) -> str:
                return f"hidden {self.hidden}"
        """,
    "serving/state.py": """
        from serving.settings import Settings

        _CURRENT = None

        def install(settings: Settings) -> None:
            global _CURRENT
            _CURRENT = settings

        def current() -> Settings:
            return _CURRENT
        """,
    "serving/helpers.py": """
        import torch

        from .settings import PADDED

        def largest(x: torch.Tensor) -> float:
            return x.max().item()

        def padded(count: int) -> int:
            return (count + PADDED - 1) // PADDED * PADDED

        def announce(x):
            print("tokens", x.shape)
        """,
    "serving/layers.py": """
        import torch
        from torch import nn

        from serving.helpers import largest
        from serving.registry import register
        from serving.state import current

        class Base(nn.Module):
            def scale(self, x):
                return x * 2

            def forward(self, x):
                raise NotImplementedError

        @register("plain")
        class Plain(Base):
            def __init__(self, width: int):
                super().__init__()
                self.inner = nn.Linear(width, width)
                self.count = 0

            def forward(self, x):
                self.count += 1
                return self.scale(self.inner(x))

        @register("checked")
        class Checked(Plain):
            def forward(self, x):
                if largest(x) > 3:
                    x = x / 2
                if current().eager:
                    x = x + 1
                return super().forward(x)
        """,
    "serving/registry.py": """
        LAYERS = {}

        def register(name):
            def keep(cls):
                LAYERS[name] = cls
                return cls
            return keep

        def made(name, *given):
            return LAYERS[name](*given)
        """,
    "serving/common.py": """
        from serving.helpers import *
        from serving.settings import Settings, SIZES
        """,
    "serving/runner.py": """
        import torch

        from serving import layers
        from serving.common import SIZES, Settings, announce, padded

        class Runner:
            def __init__(self, settings: Settings, model: layers.Base):
                self.settings = settings
                self.model = model
                self.scale = 1.0
                self.graphs = {}
                self.inputs = {}
                self.outputs = {}

            def warm(self, size: int):
                x = torch.zeros(size, self.settings.hidden, device="cuda")
                for _ in range(self.settings.rounds):
                    self.model(x)
                torch.cuda.synchronize()
                return x

            def capture(self):
                for size in SIZES:
                    x = self.warm(size)
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        y = self.model(x) * self.scale
                    self.graphs[size], self.inputs[size], self.outputs[size] = graph, x, y

            def run(self, x: torch.Tensor):
                size = padded(x.shape[0])
                announce(x)
                self.inputs[size] = x
                self.graphs[size].replay()
                return self.outputs[size]
        """,
    "serving/single.py": """
        import torch

        from serving.layers import Plain
        from serving.ops import scaled

        class Single:
            def __init__(self, model: Plain):
                self.model = model
                self.x = torch.zeros(4, 16, device="cuda")
                self.factor = 2
                self.graph = None

            def step(self, x):
                if self.graph is None:
                    self.capture()
                self.x = x
                self.factor += 1
                self.graph.replay()
                return self.y

            def capture(self):
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = scaled(self.model(self.x), self.factor)
                    self.y.cpu()
        """,
    "serving/ops.py": """
        import torch

        def scaled(x, factor):
            return x * factor

        library = torch.library.Library("serving", "DEF")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x.item(), "CUDA")
        """,
    "serving/use_ops.py": """
        import torch

        def captured_twice():
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = torch.ops.serving.twice(x)
            graph.replay()
            return y
        """,
    "serving/main.py": """
        from serving.registry import made
        from serving.runner import Runner
        from serving.settings import Settings
        from serving.single import Single
        from serving.state import install

        def build(kind="checked"):
            settings = Settings(hidden=32)
            install(settings)
            return Runner(settings, made(kind, 32))

        def serve(batches):
            runner = build()
            runner.capture()
            for batch in batches:
                runner.scale = batch.weight
                yield runner.run(batch.x)

        def once(model, x):
            return Single(model).step(x)
        """,
    "training/loop.py": """
        import torch

        from optim import made_optimizer

        def train(model, batches):
            optimizer = made_optimizer(model)
            x = torch.zeros(8, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loss = model(x).sum()
                loss.backward()
                optimizer.step()
            for batch in batches:
                x = batch.cuda()
                graph.replay()
        """,
    "training/optim.py": """
        import torch

        RATE = 0.1

        def made_optimizer(model):
            return torch.optim.Adam(model.parameters(), lr=RATE)
        """,
    "training/declared.py": """
        import time

        # graphlint: captured
        def body(x):
            log(x)
            return x + 1

        def log(x):
            print(time.time(), x)
        """,
}

Edit = Callable[["Project", random.Random], None]


class Project:
    """Files below a folder, their texts as they are now, and as they were at first."""

    def __init__(self, folder: Path, texts: dict[str, str]) -> None:
        self.folder = folder
        self.first = dict(texts)
        self.texts: dict[str, str] = {}
        for path, text in texts.items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        self.texts[path] = text
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def remove(self, path: str) -> None:
        del self.texts[path]
        (self.folder / path).unlink()

    def edit(self, dice: random.Random) -> str:
        """Make one or two random edits; what was done."""
        edits = dice.choices(EDITS, k=dice.choice((1, 1, 1, 2)))
        for each in edits:
            each(self, dice)
        return ", ".join(each.__name__ for each in edits)

    def path(self, dice: random.Random) -> str:
        return dice.choice(sorted(self.texts))

    def word(self, dice: random.Random) -> str:
        """A name that some file of the project uses."""
        words: list[str] = re.findall(r"[A-Za-z_]\w+", self.texts[self.path(dice)]) or ["x"]
        return dice.choice(words)

    def change_lines(self, dice: random.Random, change: Callable[[list[str]], object]) -> None:
        path = self.path(dice)
        lines = self.texts[path].splitlines(keepends=True)
        if lines:
            change(lines)
            self.write(path, "".join(lines))


def comment_at_the_top(project: Project, dice: random.Random) -> None:
    path = project.path(dice)
    project.write(path, f"# {project.word(dice)} {project.word(dice)}\n{project.texts[path]}")


def empty_line(project: Project, dice: random.Random) -> None:
    project.change_lines(dice, lambda lines: lines.insert(dice.randrange(len(lines)), "\n"))


def line_removed(project: Project, dice: random.Random) -> None:
    project.change_lines(dice, lambda lines: lines.pop(dice.randrange(len(lines))))


def line_repeated(project: Project, dice: random.Random) -> None:
    def repeat(lines: list[str]) -> None:
        at = dice.randrange(len(lines))
        lines.insert(at, lines[at])

    project.change_lines(dice, repeat)


def line_moved(project: Project, dice: random.Random) -> None:
    def move(lines: list[str]) -> None:
        line = lines.pop(dice.randrange(len(lines)))
        lines.insert(dice.randrange(len(lines) + 1), line)

    project.change_lines(dice, move)


def line_taken_over(project: Project, dice: random.Random) -> None:
    """A line of another file, at the indentation of where it goes."""
    source = [line for line in project.texts[project.path(dice)].splitlines() if line.strip()]

    def take(lines: list[str]) -> None:
        at = dice.randrange(len(lines))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())].strip("\n")
        lines.insert(at, f"{indent}{dice.choice(source).strip()}\n")

    if source:
        project.change_lines(dice, take)


def number_changed(project: Project, dice: random.Random) -> None:
    path = project.path(dice)
    found = list(re.finditer(r"\b\d+\b", project.texts[path]))
    if found:
        at = dice.choice(found)
        text = project.texts[path]
        project.write(path, f"{text[: at.start()]}{dice.randrange(40)}{text[at.end() :]}")


def renamed_here(project: Project, dice: random.Random) -> None:
    path, word = project.path(dice), project.word(dice)
    project.write(
        path, re.sub(rf"\b{word}\b", dice.choice(("renamed", project.word(dice))), project.texts[path])
    )


def renamed_everywhere(project: Project, dice: random.Random) -> None:
    word, other = project.word(dice), f"other{dice.randrange(3)}"
    for path, text in list(project.texts.items()):
        if re.search(rf"\b{word}\b", text):
            project.write(path, re.sub(rf"\b{word}\b", other, text))


def file_removed(project: Project, dice: random.Random) -> None:
    if len(project.texts) > 8:
        project.remove(project.path(dice))


def file_put_back(project: Project, dice: random.Random) -> None:
    path = dice.choice(sorted(project.first))
    project.write(path, project.first[path])


def all_put_back(project: Project, dice: random.Random) -> None:
    if dice.random() < 0.3:
        for path in set(project.texts) - set(project.first):
            project.remove(path)
        for path, text in project.first.items():
            project.write(path, text)


def copied_to_another_place(project: Project, dice: random.Random) -> None:
    """A file of the same module name elsewhere, which may hide the first."""
    path = project.path(dice)
    folder = dice.choice(sorted({str(Path(each).parent) for each in project.texts} | {".", "src"}))
    project.write(str(Path(folder) / Path(path).name), project.texts[path])


def init_added(project: Project, dice: random.Random) -> None:
    folder = Path(project.path(dice)).parent
    project.write(str(folder / "__init__.py"), dice.choice(("", "from .settings import *\n", "X = 1\n")))


def caller_added(project: Project, dice: random.Random) -> None:
    path = project.path(dice)
    module = path.removesuffix(".py").replace("/", ".")
    name = dice.choice(re.findall(r"^(?:def|class) (\w+)", project.texts[path], re.MULTILINE) or ["x"])
    text = f"from {module} import {name}\n\ndef use(x, y):\n    made = {name}(x)\n    made.run(y)\n    return made\n"
    project.write(f"caller{dice.randrange(3)}.py", text)


def guard_around_line(project: Project, dice: random.Random) -> None:
    def guard(lines: list[str]) -> None:
        at = dice.randrange(len(lines))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())].strip("\n")
        lines[at] = f"{indent}if {project.word(dice)}:\n{indent}    {lines[at].lstrip()}"

    project.change_lines(dice, guard)


def deeper_or_higher(project: Project, dice: random.Random) -> None:
    def shift(lines: list[str]) -> None:
        at = dice.randrange(len(lines))
        for index in range(at, min(len(lines), at + dice.randrange(1, 4))):
            lines[index] = f"    {lines[index]}" if dice.random() < 0.5 else lines[index].removeprefix("    ")

    project.change_lines(dice, shift)


def nothing(project: Project, dice: random.Random) -> None:
    """The run after an edit that was undone in the editor."""


EDITS: list[Edit] = [
    *[comment_at_the_top, empty_line, line_removed, line_repeated, line_moved, line_taken_over],
    *[number_changed, renamed_here, renamed_everywhere, file_removed, file_put_back, file_put_back],
    *[all_put_back, copied_to_another_place, init_added, caller_added, guard_around_line, deeper_or_higher],
    nothing,
]


def emptied(folder: Path) -> Path:
    """A new, empty folder of that name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
