"""How the cost grows: generated projects of more files, of more regions, and one very long file.

    python benchmarks/growth.py [PLOT.svg]

Prints the table of docs/performance.md and, with a name, writes its plot.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import Cost, cost_of
from plot import Panel, svg

CHECK = [sys.executable, "-m", "graphlint", "check", "--isolated", "--exit-zero", "--no-cache", "."]
FILES = (1_000, 4_000, 16_000)
REGIONS = (10, 100, 1_000)
LINES = 100_000

PLAIN = '''"""A plain module of the project."""

import math

from package.shared import helper


class Part{n}:
    """Something that has nothing to do with graphs."""

    def __init__(self, size: int, name: str = "part"):
        self.size = size
        self.name = name
        self.values = [0.0] * size

    def total(self) -> float:
        result = 0.0
        for index, value in enumerate(self.values):
            result += helper(value) * math.sqrt(index + 1)
        return result

    def resized(self, size: int) -> "Part{n}":
        made = Part{n}(size, self.name)
        made.values = self.values[:size] + [0.0] * max(0, size - self.size)
        return made


def make_{n}(size: int) -> Part{n}:
    if size < 0:
        raise ValueError(f"no part has {{size}} values")
    return Part{n}(size)
'''
REGION = '''"""A module that captures."""

import torch

from package.shared import Model


class Runner{n}:
    def __init__(self, model: Model, size: int):
        self.model = model
        self.graph = torch.cuda.CUDAGraph()
        self.input = torch.zeros(size, device="cuda")
        self.output = None

    def capture(self):
        for _ in range(3):
            self.model(self.input)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.output = self.model(self.input)

    def run(self, batch: torch.Tensor):
        self.input.copy_(batch)
        self.graph.replay()
        return self.output
'''
SHARED = '''"""What all modules use."""

import torch


def helper(value: float) -> float:
    return value * 2


class Model(torch.nn.Module):
    def __init__(self, size: int = 4):
        super().__init__()
        self.first = torch.nn.Linear(size, size)
        self.second = torch.nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))
'''
STEP = "    x = x + {n}\n    x = torch.relu(x)\n"


def main() -> None:
    print("| files | regions | CPU s | wall s | memory MB |\n|---|---|---|---|---|")
    of_files = [(files, _row(f"{files:,} | 10", _cost(files, 10)).cpu) for files in FILES]
    of_regions = [(count, _row(f"1,000 | {count:,}", _cost(1_000, count)).cpu) for count in REGIONS]
    _row(f"1 of {LINES:,} lines | 1", _cost_of_long_file())
    if len(sys.argv) > 1:
        panels = [
            Panel("Files, with ten regions", "files", "CPU s", of_files),
            Panel("Regions, in 1,000 files", "regions", "CPU s", of_regions),
        ]
        Path(sys.argv[1]).write_text(svg(panels), encoding="utf-8")


def _row(what: str, cost: Cost) -> Cost:
    print(f"| {what} | {cost.cpu:.2f} | {cost.wall:.2f} | {cost.memory:.0f} |", flush=True)
    return cost


def _cost(files: int, regions: int) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "package"
        for n in range(files):
            text = REGION if n < regions else PLAIN
            path = package / f"part{n // 100}" / f"module{n}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(n=n), encoding="utf-8")
        (package / "shared.py").write_text(SHARED, encoding="utf-8")
        return cost_of(CHECK, Path(folder))


def _cost_of_long_file() -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        functions = ["import torch\n", REGION.format(n=0), SHARED]
        for n in range(LINES // 25):
            functions.append(f"\n\ndef step_{n}(x):\n" + STEP.format(n=n) * 11 + "    return x\n")
        (Path(folder) / "generated.py").write_text("".join(functions), encoding="utf-8")
        return cost_of(CHECK, Path(folder))


if __name__ == "__main__":
    main()
