from __future__ import annotations

from collections.abc import Iterator

import torch

from .arguments import TrainingArgs


class StaticBatches:
    """One pair of static tensors for each microbatch, filled from the loader."""

    def __init__(self, args: TrainingArgs) -> None:
        shape = (args.micro_batch, args.seq_length)
        self.pairs = [
            {
                "tokens": torch.zeros(shape, dtype=torch.int64, device="cuda"),
                "labels": torch.zeros(shape, dtype=torch.int64, device="cuda"),
            }
            for _ in range(args.num_microbatches)
        ]

    def load(self, batches: Iterator[dict[str, torch.Tensor]]) -> None:
        for static in self.pairs:
            fresh = next(batches)
            for name, tensor in static.items():
                tensor.copy_(fresh[name], non_blocking=True)


def make_loader(args: TrainingArgs) -> Iterator[dict[str, torch.Tensor]]:
    while True:
        text = torch.randint(0, args.vocab, (args.micro_batch, args.seq_length + 1)).pin_memory()
        yield {
            "tokens": text[:, :-1].contiguous().pin_memory(),
            "labels": text[:, 1:].contiguous().pin_memory(),
        }
