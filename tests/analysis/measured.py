"""Every measured expression as a program that captures it, and what graphlint says of each."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import graphlint.engine
from graphlint.config import Config
from graphlint.finding import Level

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
KNOWN = frozenset({"io", "math", "os", "pickle", "time", "np", "torch", "F", "nn"} | set(dir(__builtins__)))


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
    lines += [f"    ({source})", "    graph = torch.cuda.CUDAGraph()"]
    lines += ["    with torch.cuda.graph(graph):", f"        result = ({source})"]
    lines += ["    graph.replay()", "    return graph, result", "", ""]
    return "\n".join(lines), len(lines) - 4


def reported(folder: Path) -> tuple[list[tuple[Row, set[str]]], int]:
    """Each row with the codes that graphlint reports on its captured line."""
    text, places, found = PREAMBLE, {}, []
    for number, row in enumerate(rows()):
        function, offset = program(number, row.source)
        places[text.count("\n") + offset] = row
        text += function
    (folder / "measured.py").write_text(text, encoding="utf-8")
    result = graphlint.engine.check(["measured.py"], Config(root=folder), use_cache=False)
    codes: dict[int, set[str]] = {line: set() for line in places}
    for finding in result.findings:
        if finding.level is Level.ERROR:
            for line in range(finding.span.line, finding.span.end_line + 1):
                codes.setdefault(line, set()).add(finding.code)
    for line, row in places.items():
        found.append((row, codes[line]))
    return found, len(places)
