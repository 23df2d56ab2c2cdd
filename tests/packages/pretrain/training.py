from __future__ import annotations

import logging

import torch
import torch.distributed as dist

from .checkpointing import load_checkpoint, save_checkpoint
from .config import TrainingConfig
from .core import parallel_state
from .core.grad_buffer import DistributedModel
from .core.rng import seed_everything
from .data import batches
from .gpt import GPTModel
from .optimizer import MixedPrecisionOptimizer
from .schedules import get_forward_backward_func

logger = logging.getLogger(__name__)


def step_of_model(data, model) -> torch.Tensor:
    tokens, labels = next(data)
    return model(tokens, labels)


def setup(config: TrainingConfig) -> tuple[DistributedModel, MixedPrecisionOptimizer]:
    dist.init_process_group("nccl")
    parallel_state.initialize_model_parallel(config.tensor_size, config.pipeline_size)
    seed_everything(config.seed)
    model = DistributedModel(GPTModel(config.model))
    return model, MixedPrecisionOptimizer(model, config)


def train_step(data, model: DistributedModel, optimizer: MixedPrecisionOptimizer, config: TrainingConfig):
    model.zero_grad_buffer()
    losses = get_forward_backward_func(config)(step_of_model, data, model, config)
    norm = optimizer.step()
    return torch.stack(losses).mean().item(), norm


def evaluate(data, model: DistributedModel, config: TrainingConfig) -> float:
    model.eval()
    with torch.no_grad():
        losses = get_forward_backward_func(config)(step_of_model, data, model, config, forward_only=True)
    model.train()
    return torch.stack(losses).mean().item()


def train(config: TrainingConfig) -> None:
    model, optimizer = setup(config)
    start = load_checkpoint(config.load, model, optimizer) if config.load else 0
    data = batches(config)
    model.train()
    for iteration in range(start, config.train_iters):
        parallel_state.set_iteration(iteration)
        loss, norm = train_step(data, model, optimizer, config)
        logger.info("%d: loss %.3f, norm %.3f", iteration, loss, norm)
        if iteration % config.eval_interval == 0:
            logger.info("validation %.3f", evaluate(data, model, config))
        if iteration % config.save_interval == 0:
            save_checkpoint(config.save, iteration, model, optimizer)


if __name__ == "__main__":
    train(TrainingConfig())
