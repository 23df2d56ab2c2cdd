"""Every measured expression as a program that captures it, and what graphlint says of each."""

from __future__ import annotations

import ast
import builtins
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import graphlint.engine
from graphlint.config import Config
from graphlint.finding import Confidence, Level

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "measured"

# What the names of the expressions stand for; docs/measured/operations.md says the same in words.
SETUP = {
    "x": "torch.rand(8, 16, device='cuda')",
    "v": "torch.rand(8, device='cuda')",
    "s": "torch.tensor(1.5, device='cuda')",
    "n": "torch.tensor(5, device='cuda')",
    "i": "torch.arange(8, device='cuda')",
    "m": "torch.rand(8, device='cuda') > 0.5",
    "sq": "torch.eye(8, device='cuda') * 2 + 0.01",
    "k": "torch.rand(1, 1, 8, 8, device='cuda')",
    "d": "torch.rand(2, 4, 8, device='cuda')",
    "pad": "torch.zeros(2, 4, dtype=torch.bool, device='cuda')",
    "c": "torch.rand(8).pin_memory()",
    "h": "torch.rand(8)",
    "h0": "torch.tensor(2.0)",
    "hi": "torch.tensor([0, 1])",
    "hm": "torch.rand(8) > 0.5",
    "cuda": "torch.device('cuda')",
    "side": "torch.cuda.Stream()",
    "event": "torch.cuda.Event(enable_timing=True); event.record()",
    "event2": "torch.cuda.Event(enable_timing=True); event2.record()",
    "_oldev": "torch.cuda.Event(); _oldev.record()",
    "gen": "torch.Generator(device='cuda')",
    "lin": "nn.Linear(16, 4, device='cuda')",
    "params": "list(nn.Linear(16, 4, device='cuda').parameters())",
    "layer": "nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device='cuda')",
    "mha": "nn.MultiheadAttention(8, 2, batch_first=True, device='cuda')",
    "gru": "nn.GRU(8, 4, batch_first=True, device='cuda')",
    "lstm": "nn.LSTM(16, 8, device='cuda')",
    "sgd": "torch.optim.SGD(nn.Linear(16, 4, device='cuda').parameters(), lr=0.1)",
    "sgd_fused": "torch.optim.SGD(nn.Linear(16, 4, device='cuda').parameters(), lr=0.1, fused=True)",
    "adamc": "torch.optim.Adam(nn.Linear(16, 4, device='cuda').parameters(), capturable=True)",
    "adamw_c": "torch.optim.AdamW(nn.Linear(16, 4, device='cuda').parameters(), capturable=True)",
    "rmsprop_c": "torch.optim.RMSprop(nn.Linear(16, 4, device='cuda').parameters(), capturable=True)",
} | {
    name.lower(): f"torch.optim.{name}(nn.Linear(16, 4, device='cuda').parameters(), lr=0.1)"
    for name in (
        "Adam",
        "AdamW",
        "RMSprop",
        "Adadelta",
        "Adagrad",
        "NAdam",
        "Adamax",
        "RAdam",
        "Rprop",
        "ASGD",
    )
}
PREAMBLE = """\
import io, math, os, pickle, time
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
"""
# Families of rules that speak of captures that fail.
LOUD = ("CG3", "CG5", "CG7", "CG8")
KNOWN = frozenset({"io", "math", "os", "pickle", "time", "np", "torch", "F", "nn"} | set(dir(builtins)))


@dataclass(frozen=True)
class Row:
    """One measured expression: whether its capture failed on the GPU."""

    id: str
    source: str
    failed: bool


def rows() -> Iterator[Row]:
    """The rows that have an expression in the names of `SETUP` and say something about captures."""
    excepted = json.loads((MEASURED / "exceptions.json").read_text("utf-8"))
    sources = json.loads((MEASURED / "sources.json").read_text("utf-8"))
    for path in sorted((MEASURED / "rows").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            raw = json.loads(line)
            source = sources.get(raw["id"]) or raw["src"]
            told = source and raw["id"] not in excepted and not raw.get("error", "").startswith("eager: ")
            told = told and "operation" not in raw  # those are of other libraries
            if told and names_in(source) is not None:
                yield Row(raw["id"], source, raw["failed"])


def names_in(source: str) -> list[str] | None:
    """The names of `SETUP` that an expression uses; None when it uses others."""
    tree = ast.parse(source, mode="eval")
    bound = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    bound |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - bound - KNOWN
    return sorted(used) if used <= set(SETUP) else None


def program(number: int, source: str) -> tuple[str, int]:
    """A function that runs the expression before a capture and inside it, and which line is inside."""
    lines = [f"def capture_{number}():"]
    lines += [f"    {name} = {SETUP[name]}" for name in names_in(source) or ()]
    setting, statement = _as_written(source)
    lines += [f"    {setting}", f"    {statement}", "    graph = torch.cuda.CUDAGraph()"]
    lines += ["    with torch.cuda.graph(graph):", f"        {statement}"]
    lines += ["    graph.replay()", "    return graph, target", "", ""]
    return "\n".join(lines), len(lines) - 4


def _as_written(source: str) -> tuple[str, str]:
    """An expression as people write it: `a.__setitem__(key, value)` is `a[key] = value`."""
    node = ast.parse(source, mode="eval").body
    match node:
        case ast.Call(ast.Attribute(owner, "__setitem__"), [key, value]):
            written = f"target[{_subscript(key)}] = {ast.unparse(value)}"
            return f"target = {ast.unparse(owner)}", written
    return "target = None", f"target = ({source})"


def _subscript(key: ast.expr) -> str:
    match key:
        case ast.Call(ast.Name("slice"), [stop]):
            return ":" if ast.unparse(stop) == "None" else f":{ast.unparse(stop)}"
        case ast.Call(ast.Name("slice"), bounds):
            return ":".join("" if ast.unparse(bound) == "None" else ast.unparse(bound) for bound in bounds)
        case ast.Tuple(parts):
            return ", ".join(map(_subscript, parts))
    return ast.unparse(key)


@dataclass(frozen=True)
class Verdict:
    """A row and the codes of the errors that graphlint reports on its captured line."""

    row: Row
    codes: frozenset[str]

    @property
    def agrees(self) -> bool:
        """Whether graphlint expects the capture to fail exactly when it did.

        Only rules about captures that fail count: a frozen number (CG402) is captured without an error.
        """
        loud = any(code[:3] in LOUD or code == "CG401" for code in self.codes)
        return loud == self.row.failed


def verdicts(folder: Path) -> list[Verdict]:
    """What graphlint says of every row; all are functions of one file written to `folder`."""
    text, places = PREAMBLE, {}
    for number, row in enumerate(rows()):
        function, line = program(number, row.source)
        places[text.count("\n") + line] = row
        text += function
    (folder / "measured.py").write_text(text, encoding="utf-8")
    result = graphlint.engine.check([folder / "measured.py"], Config(root=folder), use_cache=False)
    assert not result.problems, result.problems
    codes: dict[int, set[str]] = {line: set() for line in places}
    for finding in result.findings:
        if finding.level is Level.ERROR and finding.confidence is not Confidence.POSSIBLE:
            codes.setdefault(finding.span.line, set()).add(finding.code)
    return [Verdict(row, frozenset(codes[line])) for line, row in places.items()]


INTRODUCTION = """\
# Where graphlint agrees with the GPU

Each measured expression (see [operations.md](operations.md)) is put into a small program that runs it once,
captures it and replays the graph. graphlint should report an error on the captured line exactly when the
capture failed on the GPU: one H200, torch 2.11.0+cu130.

**{agree} of {rows} agree.** `python -m tests.analysis.measured` writes this page;
`tests/analysis/test_measured_expressions.py` fails when an expression that is not listed here disagrees.

| expression | capture | graphlint | why |
|---|---|---|---|"""


def main() -> None:
    """Write docs/measured/linter-agreement.md from what graphlint says now and the known reasons."""
    with tempfile.TemporaryDirectory() as name:
        found = verdicts(Path(name))
    (MEASURED / "linter-agreement.md").write_text(page(found), encoding="utf-8")


def page(found: list[Verdict]) -> str:
    reasons = json.loads((MEASURED / "linter_disagreements.json").read_text("utf-8"))
    wrong = [verdict for verdict in found if not verdict.agrees]
    lines = [INTRODUCTION.format(agree=len(found) - len(wrong), rows=len(found))]
    for verdict in sorted(wrong, key=lambda v: (reasons.get(v.row.id, ""), v.row.source)):
        happened = "fails" if verdict.row.failed else "works"
        said = ", ".join(sorted(verdict.codes)) or "silent"
        reason = reasons.get(verdict.row.id, "not known yet")
        lines.append(f"| `{verdict.row.source}` | {happened} | {said} | {reason} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
