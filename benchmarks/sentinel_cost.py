"""What watching costs: replays in a loop, eager operations, and a capture with what leads to it.

`python benchmarks/sentinel_cost.py [--virtual] [mode ...]` prints a table in Markdown: microseconds, and
ratios to the same program unwatched. Each figure is the least of several runs that take turns with the
unwatched ones.
"""

from __future__ import annotations

import faulthandler
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
VIRTUAL = "--virtual" in sys.argv
MODES = [argument for argument in sys.argv[1:] if not argument.startswith("-")] or ["watch", "canary", "test"]
ROUNDS = 2 if VIRTUAL else 4


class Layer(nn.Module):
    """One layer of a decoder: normalise, attend to a cache, normalise, gated product."""

    def __init__(self, width: int, heads: int, length: int, batch: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(2 * width, width, bias=False)
        shape = (batch, length, heads, width // heads)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x: Any, cos: Any, sin: Any, rows: Any, position: Any, mask: Any) -> Any:
        q, k, v = self.qkv(self.before(x)).view(x.shape[0], 3, self.heads, -1).unbind(1)
        q, k = turned(q, cos, sin), turned(k, cos, sin)
        self.keys[rows, position], self.values[rows, position] = k, v
        keys, values = self.keys.transpose(1, 2), self.values.transpose(1, 2)
        attended = F.scaled_dot_product_attention(q.unsqueeze(2), keys, values, attn_mask=mask)
        x = x + self.out(attended.reshape(x.shape[0], -1))
        gate, up = self.up(self.between(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def turned(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Decoder(nn.Module):
    """A decode step of a small Llama."""

    def __init__(self, layers: int, width: int, heads: int, length: int, batch: int, words: int) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.layers = nn.ModuleList(Layer(width, heads, length, batch) for _ in range(layers))
        half = torch.arange(0, width // heads, 2) / (width // heads)
        self.register_buffer("frequencies", 1e4 ** (-half))
        self.register_buffer("rows", torch.arange(batch))
        self.register_buffer("places", torch.arange(length))

    def forward(self, ids: Any, position: Any) -> Any:
        x = self.table(ids)
        angles = position[:, None].float() * self.frequencies.float()
        angles = torch.cat((angles, angles), -1)[:, None]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        mask = (self.places[None] <= position[:, None])[:, None, None]
        for layer in self.layers:
            x = layer(x, cos, sin, self.rows, position, mask)
        return self.head(x)


class Step:
    """A program that captures once and replays in a loop, as servers do."""

    def __init__(self, body: Callable[[], Any], inputs: list[torch.Tensor]) -> None:
        self.body, self.inputs = body, inputs

    def prepare(self) -> None:
        """Warm up, capture, and run once."""
        self.record()
        self.graph.replay()
        torch.cuda.synchronize()

    def record(self) -> None:
        """Warm up, capture and instantiate."""
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.body()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.body()
        torch.cuda.synchronize()

    def run(self, times: int) -> float:
        """Microseconds of one step: replay, and wait."""
        start = time.perf_counter()
        for _ in range(times):
            self.graph.replay()
            torch.cuda.synchronize()
        return (time.perf_counter() - start) / times * 1e6


def decoder() -> Step:
    size = (2, 64, 4, 32, 2, 100) if VIRTUAL else (16, 1024, 16, 256, 8, 32000)
    kind = torch.float32 if VIRTUAL else torch.bfloat16
    net = Decoder(*size).cuda().to(kind).eval()
    ids = torch.zeros(size[4], dtype=torch.long, device="cuda")
    position = ids.clone()
    return Step(lambda: net(ids, position), [ids, position])


def tiny(kernels: int) -> Callable[[], Step]:
    def make() -> Step:
        x = torch.ones(64, 1024, device="cuda")

        def body() -> Any:
            y = x
            for _ in range(kernels):
                y = y + 1
            return y

        return Step(body, [x])

    return make


def watched(mode: str | None) -> AbstractContextManager[Any]:
    from graphlint.sentinel import watch

    return nullcontext() if mode is None else watch(mode)  # type: ignore[arg-type]


def replays(make: Callable[[], Step], times: int) -> dict[str | None, float]:
    """The least time of a step in each mode; the modes take turns, each with a capture of its own."""
    least: dict[str | None, float] = {}
    for _ in range(ROUNDS):
        for mode in (None, *MODES):
            step = make()
            with watched(mode):
                step.prepare()
                step.run(max(times // 10, 1))
                least[mode] = min(step.run(times), least.get(mode, 1e12))
    return least


def captures(make: Callable[[], Step]) -> dict[str | None, float]:
    """The least time of warm-up, capture and instantiation."""
    least: dict[str | None, float] = {}
    for _ in range(ROUNDS):
        for mode in (None, *MODES):
            step = make()
            torch.cuda.synchronize()
            with watched(mode):
                start = time.perf_counter()
                step.record()
                least[mode] = min((time.perf_counter() - start) * 1e6, least.get(mode, 1e12))
    return least


def operations(times: int) -> dict[str | None, float]:
    """Microseconds of an eager operation, while there is a graph."""
    least: dict[str | None, float] = {}
    for _ in range(ROUNDS):
        for mode in (None, *MODES):
            step, y = tiny(2)(), torch.ones(8, device="cuda")
            with watched(mode):
                step.prepare()
                start = time.perf_counter()
                for _ in range(times):
                    y = y + 1
                least[mode] = min((time.perf_counter() - start) / times * 1e6, least.get(mode, 1e12))
                torch.cuda.synchronize()
    return least


def show(name: str, least: dict[str | None, float]) -> None:
    bare = least[None]
    cells = [f"{bare:.1f}"]
    for mode in MODES:
        cells.append(f"{least[mode]:.1f} ({least[mode] / bare:.3f}, +{least[mode] - bare:.1f})")
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def chosen_device() -> AbstractContextManager[Any]:
    """The GPU, or with `--virtual` the virtual device."""
    faulthandler.enable()
    if not VIRTUAL:
        return nullcontext()
    from graphlint.sentinel import virtual_cuda

    return virtual_cuda()


def main() -> None:
    with chosen_device():
        print(
            f"torch {torch.__version__}, {torch.cuda.get_device_name()}; microseconds (ratio, difference)\n"
        )
        print("| | not watched | " + " | ".join(MODES) + " |\n|---" * 1 + "|---" * (len(MODES) + 1) + "|")
        times = 5 if VIRTUAL else 300
        show("decode step", replays(decoder, times))
        show("500 tiny kernels", replays(tiny(500), times))
        show("50 tiny kernels", replays(tiny(50), times))
        show("one eager operation", operations(100 if VIRTUAL else 3000))
        show("warm-up, capture, instantiation of the decode step", captures(decoder))


if __name__ == "__main__":
    main()
