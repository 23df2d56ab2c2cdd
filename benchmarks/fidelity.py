"""How far the virtual CUDA device agrees with a real one, expression by expression.

    python benchmarks/fidelity.py                 # both figures and every disagreement
    python benchmarks/fidelity.py SUBSTRING ...   # only these rows, with details

Needs torch and no GPU. Each row of docs/measured/virtual/expressions.json was measured on an H200: did the
capture end, with which chain of errors otherwise, do the outputs follow new input data at replay, did eager
execution wait for the device. The same expression runs here with the same treatment, and where it was
captured the values after a replay are compared with those of eager execution.

A third of the rows was put aside before the device was built (drawn with the seed below); its figure tells
how the device does on what it was not built against.
"""

from __future__ import annotations

import io
import json
import logging
import random
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROWS = Path(__file__).parent.parent / "docs" / "measured" / "virtual" / "expressions.json"
SEED = 20261129


SETUP = """
import copy, io, math, os, pickle, time
import numpy as np, torch, torch.nn.functional as F
def _on(st, f):
    with torch.cuda.stream(st): return f()
def _ac(f):
    with torch.autocast('cuda', dtype=torch.float16): return f()
torch.manual_seed(0)
x = torch.randn(8, 16, device='cuda'); v = torch.rand(8, device='cuda'); i = torch.arange(8, device='cuda')
s = torch.tensor(1.5, device='cuda'); n = torch.tensor(5, device='cuda'); lr = 0.1
m = torch.tensor([1, 0] * 4, device='cuda', dtype=torch.bool)
c = torch.rand(8).pin_memory(); h = torch.rand(8)
hi = torch.tensor([0, 1]); h0 = torch.tensor(2.0); d = torch.rand(2, 4, 8, device='cuda')
sq = torch.eye(8, device='cuda') * 2 + 0.01; side = torch.cuda.Stream(); gen = torch.Generator(device='cuda')
lin = torch.nn.Linear(16, 4, device='cuda'); lin(x).sum().backward(); params = list(lin.parameters())
sd = {k: t.clone() for k, t in lin.state_dict().items()}
sgd = torch.optim.SGD(params, 0.1); adam = torch.optim.Adam(params, 0.1)
sgdm = torch.optim.SGD(params, 0.1, momentum=0.9)
adamc = torch.optim.Adam(params, 0.1, capturable=True)
adamf = torch.optim.AdamW(params, 0.1, fused=True, capturable=True)
adamff = torch.optim.Adam(params, 0.1, fused=True)
scaler = torch.amp.GradScaler('cuda'); scaler.scale(torch.tensor(1.0, device='cuda'))
lstm = torch.nn.LSTM(16, 4, device='cuda', batch_first=True)
mha = torch.nn.MultiheadAttention(16, 2, batch_first=True, device='cuda')
sfn = torch.nn.ReLU()
sparse = torch.eye(8, device='cuda').to_sparse()
def _scaler_step(scaler, opt, lin, x):
    opt.zero_grad(set_to_none=True); scaler.scale(lin(x).sum()).backward(); scaler.step(opt); scaler.update()
def scaler_step(): return scaler.step(sgd)
def scaler_unscale(): return scaler.unscale_(sgd)
def _fork():
    with torch.random.fork_rng(): return torch.rand(3, device='cuda')
_st = torch.cuda.get_rng_state(); _oldev = torch.cuda.Event(); _oldev.record()
event = torch.cuda.Event(enable_timing=True); event2 = torch.cuda.Event(enable_timing=True)
event.record(); event2.record()
_g0 = torch.cuda.CUDAGraph(); _y0 = torch.ones(4, device='cuda')
with torch.cuda.graph(_g0): _z0 = _y0 * 2
def _nest():
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g): return v * 2
def _bench():
    torch.backends.cudnn.benchmark = True
    try: return F.conv2d(torch.ones(1, 3, 9, 9, device='cuda'), torch.ones(4, 3, 3, 3, device='cuda'))
    finally: torch.backends.cudnn.benchmark = False
torch.cuda.synchronize()
"""

_KINDS = [
    ("operation failed due to a previous error during capture", "invalidated"),
    ("Cannot copy between CPU and CUDA tensors during CUDA graph capture", "pageable"),
    ("last recorded in a capturing stream", "captured-event"),
    ("has unjoined work", "unjoined"),
    ("dependency created on uncaptured work", "isolation"),
    ("legacy stream depend", "implicit"),
    ("Cannot prepare for replay during capturing", "replay-in-capture"),
    ("generator not in capture mode", "foreign-generator"),
    ("failed to synchronize", "thrust"),
    ("CUBLAS_STATUS_NOT_INIT", "cublas"),
    ("cusolver error", "cusolver"),
    ("cuFFT error", "cufft"),
    ("Triton Error", "triton"),
    ("FIND was unable", "cudnn"),
    ("capturable is False", "capturable"),
    ("operation not permitted when stream is capturing", "unsupported"),
]


@dataclass
class Outcome:
    ends: Any = "captured"
    replay: str | None = None
    waits: bool = False
    healthy: bool = True
    values: str | None = None  # "equal", "random", "undefined" or what differs
    texts: list[str] = field(default_factory=list)


def rows() -> list[dict[str, Any]]:
    """The measured rows."""
    found: list[dict[str, Any]] = json.loads(ROWS.read_text(encoding="utf-8"))["rows"]
    return found


def put_aside(all_rows: list[dict[str, Any]]) -> set[str]:
    """The ids of the third that the device was not built against."""
    names = sorted(row["id"] for row in all_rows)
    return set(random.Random(SEED).sample(names, len(names) // 3))


def kind(error: BaseException) -> str:
    """A short word for an error, as in the data."""
    text = f"{type(error).__name__}: {error}"
    if "BackendCompilerFailed" in text:
        return "inductor"
    return next((word for words, word in _KINDS if words in text), f"other: {type(error).__name__}")


def run(row: dict[str, Any]) -> Outcome:
    """Treat one expression as it was treated on the GPU."""
    import torch

    names: dict[str, Any] = {}
    exec(compile(SETUP, "setup", "exec"), names)
    code = compile(row["src"], row["id"], "eval")
    outcome = Outcome()
    if not row.get("cold"):
        _warm(code, names, outcome)
    graph = torch.cuda.CUDAGraph()
    made: Any = None
    torch.cuda.graph.default_capture_stream = None
    before = torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            names["v"] * 1.0
            made = eval(code, names)
    except Exception as error:
        outcome.ends, outcome.texts = _chain(error)
    torch.cuda.set_stream(before)
    if outcome.ends == "captured":
        _replay(graph, made, code, names, outcome)
    outcome.healthy = _healthy()
    return outcome


def _healthy() -> bool:
    """Whether a capture works now; it also heals generators that a failed one left stuck."""
    import torch

    graph, ones = torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")
    with torch.cuda.graph(graph):
        twice = ones * 2
    graph.replay()
    return bool((twice == 2).all())


def _warm(code: Any, names: dict[str, Any], outcome: Outcome) -> None:
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        try:
            eval(code, names)
        except Exception as error:
            outcome.texts.append(f"eager: {type(error).__name__}: {error}"[:160])
        torch.cuda.synchronize()
        try:
            torch.cuda.set_sync_debug_mode("error")
            eval(code, names)
        except Exception as error:
            outcome.waits = "synchroniz" in str(error)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def _chain(error: BaseException) -> tuple[list[str], list[str]]:
    kinds, texts, at = [], [], error
    while at is not None and len(kinds) < 4:
        kinds.append(kind(at))
        texts.append(f"{type(at).__name__}: {str(at).splitlines()[0][:110] if str(at) else ''}")
        at = at.__context__
    return kinds, texts


def _strided(made: Any) -> list[Any]:
    import torch

    parts = made if isinstance(made, (tuple, list)) else [made]
    return [part for part in parts if isinstance(part, torch.Tensor) and part.layout == torch.strided]


def _copies(made: Any) -> list[Any]:
    return [part.detach().clone().cpu() for part in _strided(made)]


def _replay(graph: Any, made: Any, code: Any, names: dict[str, Any], outcome: Outcome) -> None:
    import torch

    try:
        graph.replay()
        torch.cuda.synchronize()
        before = _copies(made)
        _new_data(names)
        torch.cuda.synchronize()
        graph.replay()
        torch.cuda.synchronize()
        after = _copies(made)
    except Exception as error:
        outcome.replay, outcome.texts = "error", _chain(error)[1]
        return
    if before:
        same = all(_same(a, b) for a, b in zip(before, after))
        outcome.replay = "frozen" if same else "live"
        outcome.values = (
            "undefined" if {"empty", "empty_like"} & set(code.co_names) else _compare(after, code, names)
        )


def _same(first: Any, second: Any) -> bool:
    """Equal to the bit; memory that nobody wrote holds poison here, which is NaN."""
    import torch

    if first.shape != second.shape or first.is_complex():
        return bool(first.shape == second.shape and torch.equal(first, second))
    return bool(torch.allclose(first.double(), second.double(), rtol=0, atol=0, equal_nan=True))


def _new_data(names: dict[str, Any]) -> None:
    names["v"].add_(0.7).mul_(1.3)
    names["x"].mul_(-0.7).add_(0.3)
    names["s"].fill_(2.5)
    names["n"].fill_(3)
    names["m"].logical_not_()
    names["i"].copy_(names["i"].flip(0))
    names["c"].mul_(3)
    names["h"].mul_(3)
    names["sq"].add_(0.5)


def _compare(after: list[Any], code: Any, names: dict[str, Any]) -> str:
    import torch

    try:
        first, second = eval(code, names), eval(code, names)
        torch.cuda.synchronize()
        first, second = _copies(first), _copies(second)
    except Exception:
        return "eager fails"
    if not all(_close(a, b) for a, b in zip(first, second)):
        return "random"
    return "equal" if all(_close(a, b) for a, b in zip(after, first)) else "differ"


def _close(a: Any, b: Any) -> bool:
    import torch

    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return (
        bool(torch.allclose(a.double(), b.double(), equal_nan=True))
        if not a.is_complex()
        else torch.allclose(a, b)
    )


def agreement(row: dict[str, Any], outcome: Outcome) -> str | None:
    """What the device does otherwise than the GPU did, or None."""
    known = len(row["ends"]) if row["id"].startswith("scenarios:") else 4  # there only two of the chain are
    if outcome.ends != row["ends"] and outcome.ends[:known] != row["ends"]:
        return f"ends {outcome.ends} and not {row['ends']}"
    if "replay" in row and row["replay"] != outcome.replay:
        return f"replay is {outcome.replay} and not {row.get('replay')}"
    return None


def judged(chosen: list[dict[str, Any]]) -> dict[str, Outcome]:
    """The outcomes of some rows, on one device: what earlier rows warmed up stays warm, as on the GPU."""
    import torch

    from graphlint.sentinel import virtual_cuda

    outcomes = {}
    _log_as_usual()
    # torch's compiler turns the checks of distributions off for the whole process once it has been used.
    torch.distributions.Distribution.set_default_validate_args(True)
    with virtual_cuda(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in chosen:
            outcomes[row["id"]] = run(row)
    return outcomes


def _log_as_usual() -> None:
    """A logger swallows what formatting raises, whatever a test runner has made of the root logger."""
    logger = logging.getLogger("q")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler(io.StringIO()))


def figures(chosen: list[dict[str, Any]], outcomes: dict[str, Outcome]) -> dict[str, tuple[int, int]]:
    """How many agree of how many, for what the device was built against and for what was put aside."""
    aside = put_aside(rows())
    counts = {"built against": [0, 0], "put aside": [0, 0]}
    for row in chosen:
        count = counts["put aside" if row["id"] in aside else "built against"]
        count[0] += agreement(row, outcomes[row["id"]]) is None
        count[1] += 1
    return {name: (good, of) for name, (good, of) in counts.items()}


def main(arguments: list[str]) -> None:
    """Run the rows and print the figures."""
    options = {argument for argument in arguments if argument.startswith("--")}
    words = [argument for argument in arguments if argument not in options]
    chosen = [row for row in rows() if not words or any(word in row["id"] + row["src"] for word in words)]
    for option in options - {"--hide-aside"}:
        first, last = option[2:].split(":")
        chosen = chosen[int(first) : int(last)]
    hidden = put_aside(rows()) if "--hide-aside" in options else set()
    outcomes = judged(chosen)
    for row in chosen:
        if row["id"] not in hidden:
            _print(row, outcomes[row["id"]])
    for name, (good, of) in figures(chosen, outcomes).items():
        if of:
            print(f"{name}: {good} of {of} agree ({100 * good / of:.1f} %)")
    _print_others(chosen, outcomes)


def _print(row: dict[str, Any], outcome: Outcome) -> None:
    problem = agreement(row, outcome)
    if problem:
        print(f"{row['id']}  {row['src'][:90]}\n    {problem}  {outcome.texts[:2]}")
    if outcome.values in ("differ", "eager fails"):
        print(f"{row['id']}  {row['src'][:90]}\n    values {outcome.values}")
    if "cold" not in row and outcome.waits != bool(row.get("waits")):
        print(f"{row['id']}  {row['src'][:90]}\n    waits {outcome.waits}")


def _print_others(chosen: list[dict[str, Any]], outcomes: dict[str, Outcome]) -> None:
    values = Counter(outcome.values for outcome in outcomes.values() if outcome.values)
    warm = [row for row in chosen if "cold" not in row]
    waits = sum(outcomes[row["id"]].waits == bool(row.get("waits")) for row in warm)
    print(f"values after a replay against eager execution: {dict(values)}")
    print(f"waits for the device in eager execution: {waits} of {len(warm)} agree")


if __name__ == "__main__":
    main(sys.argv[1:])
