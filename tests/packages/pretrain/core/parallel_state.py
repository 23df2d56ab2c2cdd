from __future__ import annotations

import torch
import torch.distributed as dist

_TENSOR_GROUP: dist.ProcessGroup | None = None
_DATA_GROUP: dist.ProcessGroup | None = None
_PIPELINE_RANK: int = 0
_PIPELINE_SIZE: int = 1
_CURRENT_MICROBATCH: int = 0
_CURRENT_ITERATION: int = 0


def initialize_model_parallel(tensor_size: int, pipeline_size: int) -> None:
    global _TENSOR_GROUP, _DATA_GROUP, _PIPELINE_RANK, _PIPELINE_SIZE
    if _TENSOR_GROUP is not None:
        raise RuntimeError("the groups are there already")
    world, rank = dist.get_world_size(), dist.get_rank()
    for start in range(0, world, tensor_size):
        ranks = list(range(start, start + tensor_size))
        group = dist.new_group(ranks)
        if rank in ranks:
            _TENSOR_GROUP = group
    for offset in range(tensor_size):
        ranks = list(range(offset, world, tensor_size))
        group = dist.new_group(ranks)
        if rank in ranks:
            _DATA_GROUP = group
    _PIPELINE_SIZE = pipeline_size
    _PIPELINE_RANK = rank // (world // pipeline_size)


def get_tensor_group() -> dist.ProcessGroup:
    assert _TENSOR_GROUP is not None
    return _TENSOR_GROUP


def get_data_group() -> dist.ProcessGroup:
    assert _DATA_GROUP is not None
    return _DATA_GROUP


def is_first_stage() -> bool:
    return _PIPELINE_RANK == 0


def is_last_stage() -> bool:
    return _PIPELINE_RANK == _PIPELINE_SIZE - 1


def set_microbatch(number: int) -> None:
    global _CURRENT_MICROBATCH
    _CURRENT_MICROBATCH = number


def get_microbatch() -> int:
    return _CURRENT_MICROBATCH


def set_iteration(number: int) -> None:
    global _CURRENT_ITERATION
    _CURRENT_ITERATION = number


def get_iteration() -> int:
    return _CURRENT_ITERATION


def device() -> torch.device:
    return torch.device("cuda", torch.cuda.current_device())
