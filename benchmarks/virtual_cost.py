"""What the virtual CUDA device costs, as ratios to plain CPU execution of the same decode step.

    python benchmarks/virtual_cost.py [--width 256] [--layers 4]

Needs torch and no GPU. A small transformer decodes one token for each of four sequences against a cache; the
same step runs on the CPU without the device, eagerly on the device, and as a replay. Each figure is the least
of several rounds, because the machine does other things as well.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

ROUNDS, STEPS = 7, 20
BATCH, HEADS, CONTEXT, WORDS = 4, 4, 64, 1000


def decoder(width: int, layers: int, device: str) -> Callable[[], Any]:
    """One decode step of a small transformer."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            shape = (BATCH, HEADS, CONTEXT, width // HEADS)
            self.register_buffer("keys", torch.zeros(shape))
            self.register_buffer("values", torch.zeros(shape))

        def forward(self, x: Any, at: Any, mask: Any) -> Any:
            q, k, v = self.qkv(self.norm1(x)).view(BATCH, 3, HEADS, -1).unbind(1)
            self.keys.index_copy_(2, at, k.unsqueeze(2))
            self.values.index_copy_(2, at, v.unsqueeze(2))
            seen = torch.nn.functional.scaled_dot_product_attention(
                q.unsqueeze(2), self.keys, self.values, attn_mask=mask
            )
            x = x + self.out(seen.flatten(1))
            return x + self.down(torch.nn.functional.silu(self.up(self.norm2(x))))

    torch.manual_seed(0)
    embed = nn.Embedding(WORDS, width).to(device)
    stack = nn.ModuleList(Layer() for _ in range(layers)).to(device)
    head = nn.Linear(width, WORDS).to(device)
    tokens = torch.zeros(BATCH, dtype=torch.long, device=device)
    at = torch.full((1,), 3, device=device)
    mask = torch.zeros(1, CONTEXT, device=device)

    def step() -> Any:
        x = embed(tokens)
        for layer in stack:
            x = layer(x, at, mask)
        return head(x)

    return step


def least(step: Callable[[], Any]) -> float:
    """Milliseconds of one step, the least of some rounds."""
    step()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(STEPS):
            step()
        best = min(best, (time.process_time() - start) / STEPS)
    return best * 1e3


def measure(width: int, layers: int) -> dict[str, float]:
    """Milliseconds of a step in each way of running it."""
    import torch

    from graphlint.sentinel import virtual_cuda

    torch.set_num_threads(1)
    with torch.no_grad():
        figures = {"plain": least(decoder(width, layers, "cpu"))}
        with virtual_cuda():
            step = decoder(width, layers, "cuda")
            figures["eager"] = least(step)
            for name in ("first capture", "capture"):  # the first one loads torch's shape functions
                graph = torch.cuda.CUDAGraph()
                start = time.process_time()
                with torch.cuda.graph(graph):
                    step()
                figures[name] = (time.process_time() - start) * 1e3
            figures["replay"] = least(graph.replay)
    return figures


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    options = parser.parse_args()
    figures = measure(options.width, options.layers)
    for name, milliseconds in figures.items():
        print(f"{name:14} {milliseconds:8.3f} ms   {milliseconds / figures['plain']:6.2f} x plain")


if __name__ == "__main__":
    main()
