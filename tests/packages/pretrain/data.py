from __future__ import annotations

from collections.abc import Iterator

import torch

from .config import TrainingConfig


def batches(config: TrainingConfig) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    shape = (config.micro_batch_size, config.seq_length + 1)
    while True:
        tokens = torch.randint(config.model.vocab_size, shape).pin_memory()
        moved = tokens.to("cuda", non_blocking=True)
        yield moved[:, :-1].contiguous(), moved[:, 1:].contiguous()
