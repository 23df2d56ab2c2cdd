"""The treatment of one expression on the CUDA device that there is, be it a GPU or the virtual one.

It runs eagerly, runs where waiting for the device is an error, is captured, and is replayed on new data. What
came out is an `Outcome`. benchmarks/measure_blind.py does this on a GPU, benchmarks/fidelity.py without one.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "docs" / "measured" / "virtual"

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
    eager: str | None = None  # the kind of error in eager execution
    looks: list[str] = field(default_factory=list)  # of each output: type, shape, device
    sums: list[float] = field(default_factory=list)  # and the sum of its values after new data


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
    setup = "blind_setup.txt" if row["id"].startswith("blind") else "setup.txt"
    exec(compile((DATA / setup).read_text(encoding="utf-8"), "setup", "exec"), names)
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
            outcome.eager = type(error).__name__
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
    kinds: list[str] = []
    texts: list[str] = []
    at: BaseException | None = error
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
        outcome.looks = [f"{p.dtype} {list(p.shape)} {p.device.type}" for p in _strided(made)]
        outcome.sums = [_sum(part) for part in after]
        outcome.values = (
            "undefined" if {"empty", "empty_like"} & set(code.co_names) else _compare(after, code, names)
        )


def _same(first: Any, second: Any) -> bool:
    """Equal to the bit; memory that nobody wrote holds poison here, which is NaN."""
    import torch

    if first.shape != second.shape:
        return False
    return bool(torch.allclose(_wide(first), _wide(second), rtol=0, atol=0, equal_nan=True))


def _wide(part: Any) -> Any:
    import torch

    return torch.view_as_real(part.to(torch.complex128)) if part.is_complex() else part.double()


_MORE_DATA = {"img", "vol", "z", "grid"}


def _sum(part: Any) -> float:
    return float(_wide(part).nan_to_num(7.0, 8.0, 9.0).abs().sum())


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
    for more in _MORE_DATA & names.keys():
        names[more].mul_(-0.7)


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

    return bool(
        a.shape == b.shape and a.dtype == b.dtype and torch.allclose(_wide(a), _wide(b), equal_nan=True)
    )


@contextmanager
def logging_as_usual() -> Iterator[None]:
    """Loggers swallow what formatting raises; a test runner's handlers raise it."""
    root = logging.getLogger()
    kept = root.handlers[:]
    root.handlers[:] = [logging.StreamHandler(io.StringIO())]
    try:
        yield
    finally:
        root.handlers[:] = kept
