"""Run expressions inside a CUDA-graph capture and write down what happened: one JSON line for each.

    python measure_on_gpu.py OUTPUT.jsonl

Needs a CUDA device and PyTorch. For every expression of `expressions.txt`: does it run in eager mode, does
`torch.cuda.set_sync_debug_mode("error")` notice a synchronisation, and does a capture in the default
(global) mode fail and with what words. A capture that leaves the process, or a library handle,
unusable ends it; the driver then goes on with the next expression in a new process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

SETUP = """
import io, math, numpy as np, torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
cuda = torch.device('cuda')
x = torch.rand(8, 16, device='cuda'); v = torch.rand(8, device='cuda')
s = torch.tensor(1.5, device='cuda')
i = torch.arange(8, device='cuda'); n = torch.tensor(5, device='cuda')
m = v > 0.5
sq = torch.eye(8, device='cuda') * 2 + 0.01; k = torch.rand(1, 1, 8, 8, device='cuda')
d = torch.rand(2, 4, 8, device='cuda')
c = torch.rand(8).pin_memory(); h = torch.rand(8)
hi = torch.tensor([0, 1]); hm = h > 0.5; h0 = torch.tensor(2.0)
lin = nn.Linear(16, 4, device='cuda'); lin(x).sum().backward(); params = list(lin.parameters())
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device='cuda')
mha = nn.MultiheadAttention(8, 2, batch_first=True, device='cuda')
gru = nn.GRU(8, 4, batch_first=True, device='cuda')
pad = torch.zeros(2, 4, dtype=torch.bool, device='cuda'); pad[:, 3] = True
event = torch.cuda.Event(enable_timing=True); event2 = torch.cuda.Event(enable_timing=True)
event.record(); event2.record(); torch.cuda.synchronize(); side = torch.cuda.Stream()
def opt(cls, **options):
    o = cls(params, lr=0.1, **options)
    for p in params: p.grad = torch.ones_like(p)
    o.step()
    return o
rmsprop = opt(torch.optim.RMSprop); adagrad = opt(torch.optim.Adagrad); adadelta = opt(torch.optim.Adadelta)
adamw = opt(torch.optim.AdamW); nadam = opt(torch.optim.NAdam); adamax = opt(torch.optim.Adamax)
rmsprop_c = opt(torch.optim.RMSprop, capturable=True); adamw_c = opt(torch.optim.AdamW, capturable=True)
sgd_fused = opt(torch.optim.SGD, fused=True); radam = opt(torch.optim.RAdam)
rprop = opt(torch.optim.Rprop); asgd = opt(torch.optim.ASGD)
def anomaly():
    with torch.autograd.detect_anomaly(check_nan=True): (v.clone().requires_grad_() * 2).sum().backward()
def forked():
    with torch.random.fork_rng(): return torch.rand(3, device='cuda')
torch.cuda.synchronize()
"""

EXPRESSIONS = Path(__file__).with_name("expressions.txt")


def measure(source: str, names: dict[str, object]) -> dict[str, object]:
    import torch

    row: dict[str, object] = {"op": source, "src": source}
    code = compile(source, "expression", "eval")
    warm = torch.cuda.Stream()
    with torch.cuda.stream(warm):
        try:
            eval(code, names)
        except Exception as error:
            row["eager_error"] = words(error)
            return row | {"healthy_after": healthy()}
        torch.cuda.synchronize()
        try:
            torch.cuda.set_sync_debug_mode("error")
            eval(code, names)
            row["sync_debug"] = False
        except Exception as error:
            row["sync_debug"] = "synchroniz" in str(error)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            names["v"] * 1.0  # type: ignore[operator]
            result = eval(code, names)
        row["capture"] = "ok"
        graph.replay()
        torch.cuda.synchronize()
        del result
    except Exception as error:
        row |= {"capture": "error", "errors": chain(error)}
    return row | {"healthy_after": healthy()}


def chain(error: BaseException) -> list[str]:
    """An error and what it came after, the last one first."""
    found: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(found) < 4:
        found.append(words(cause))
        cause = cause.__context__
    return found


def words(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"


def healthy() -> bool:
    import torch

    try:
        graph, one = torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")
        with torch.cuda.graph(graph):
            two = one * 2
        graph.replay()
        torch.cuda.synchronize()
        return bool((two == 2).all())
    except Exception:
        return False


def main(output: Path, first: int | None = None) -> None:
    sources = [line for line in EXPRESSIONS.read_text("utf-8").splitlines() if line]
    if first is None:
        output.write_text("")
        done = 0
        while done < len(sources):
            subprocess.run([sys.executable, __file__, str(output), str(done)], check=False)
            count = len(output.read_text().splitlines())
            if count == done:
                with output.open("a") as file:
                    file.write(json.dumps({"op": sources[done], "capture": "process died"}) + "\n")
                count += 1
            done = count
        return
    warnings.simplefilter("ignore")
    for source in sources[first:]:
        names: dict[str, object] = {}
        exec(SETUP, names)
        row = measure(source, names)
        with output.open("a") as file:
            file.write(json.dumps(row) + "\n")
        first_words = str(row.get("errors", ""))
        if not row["healthy_after"] or "cusolver" in first_words or "merge_sort" in first_words:
            sys.exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
