from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from .config import TrainingConfig
from .core import parallel_state


def get_forward_backward_func(config: TrainingConfig) -> Callable[..., list[torch.Tensor]]:
    return forward_backward_pipelining if config.num_microbatches > 1 else forward_backward_once


def forward_step(step: Callable[..., torch.Tensor], data: Iterator[Any], model, number: int) -> torch.Tensor:
    parallel_state.set_microbatch(number)
    return step(data, model)


def backward_step(loss: torch.Tensor, count: int) -> None:
    (loss / count).backward()


def forward_backward_once(step, data, model, config: TrainingConfig, forward_only: bool = False):
    loss = forward_step(step, data, model, 0)
    if not forward_only:
        backward_step(loss, 1)
        model.finish_grad_sync()
    return [loss.detach()]


def forward_backward_pipelining(step, data, model, config: TrainingConfig, forward_only: bool = False):
    """Two microbatches are under way at a time: the next goes forward before the one before goes backward."""
    count = config.num_microbatches
    waiting: list[torch.Tensor] = []
    losses: list[torch.Tensor] = []
    for number in range(count):
        loss = forward_step(step, data, model, number)
        losses.append(loss.detach())
        waiting.append(loss)
        if not forward_only and len(waiting) > 1:
            backward_step(waiting.pop(0), count)
    if not forward_only:
        for loss in waiting:
            backward_step(loss, count)
        model.finish_grad_sync()
    return losses
