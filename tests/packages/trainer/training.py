from __future__ import annotations

from functools import partial

import torch

from .arguments import TrainingArgs
from .data import StaticBatches, make_loader
from .full_graph import FullIterationGraph
from .global_state import consumed_tokens, count_tokens, set_args
from .model import model_provider
from .optimizer import LRSchedule, OptimizerWrapper
from .rng import get_rng_tracker
from .schedules import train_step


class Logger:
    def __init__(self, every: int) -> None:
        self.every = every
        self.losses: list[torch.Tensor] = []

    def add(self, loss: torch.Tensor) -> None:
        self.losses.append(loss.clone())

    def flush(self, iteration: int) -> None:
        if iteration % self.every == 0:
            mean = torch.stack(self.losses).mean().item()
            print(f"{iteration}: loss {mean:.4f}, {consumed_tokens()} tokens")
            self.losses.clear()


def pretrain(args: TrainingArgs) -> None:
    set_args(args)
    get_rng_tracker().add("dropout", 1234)
    model = model_provider(args)
    optimizer = OptimizerWrapper(model, args)
    schedule = LRSchedule(optimizer, args)
    batches, loader, logger = StaticBatches(args), make_loader(args), Logger(args.log_interval)
    step = FullIterationGraph(partial(train_step, model, optimizer, batches, args), args)
    for iteration in range(1, args.train_iters + 1):
        batches.load(loader)
        loss, _ = step()
        logger.add(loss)
        schedule.step()
        count_tokens(args.num_microbatches * args.micro_batch * args.seq_length)
        logger.flush(iteration)


if __name__ == "__main__":
    pretrain(TrainingArgs())
