from __future__ import annotations

from collections.abc import Callable

import torch

from .arguments import TrainingArgs
from .data import StaticBatches
from .global_state import get_args
from .optimizer import OptimizerWrapper


def forward_backward_no_pipelining(model, batches: StaticBatches, args: TrainingArgs) -> torch.Tensor:
    total = torch.zeros((), device="cuda")
    for pair in batches.pairs:
        loss = model(pair["tokens"], pair["labels"]) / args.num_microbatches
        loss.backward()
        total = total + loss.detach()
    if get_args().check_for_nan:
        assert not torch.isnan(total)
    return total


def get_forward_backward_func() -> Callable:
    return forward_backward_no_pipelining


def train_step(model, optimizer: OptimizerWrapper, batches: StaticBatches, args: TrainingArgs):
    optimizer.zero_grad()
    loss = get_forward_backward_func()(model, batches, args)
    return loss, optimizer.step()
