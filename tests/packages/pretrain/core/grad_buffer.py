from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn

from .parallel_state import get_data_group


class GradBuffer:
    """All gradients of a model in one piece of memory, of which each parameter has its view `main_grad`."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        size = sum(each.numel() for each in parameters)
        self.data = torch.zeros(size, dtype=torch.float32, device="cuda")
        self.bind()

    def bind(self) -> None:
        start = 0
        for parameter in self.parameters:
            end = start + parameter.numel()
            parameter.main_grad = self.data[start:end].view(parameter.shape)
            start = end

    def reset(self) -> None:
        self.data.zero_()

    def reduce(self) -> None:
        self.data.div_(dist.get_world_size(get_data_group()))
        dist.all_reduce(self.data, group=get_data_group())


class DistributedModel(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.buffer = GradBuffer([each for each in module.parameters() if each.requires_grad])

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.module(*inputs)

    def zero_grad_buffer(self) -> None:
        for parameter in self.buffer.parameters:
            parameter.grad = None
        self.buffer.reset()

    def finish_grad_sync(self) -> None:
        for parameter in self.buffer.parameters:
            if parameter.grad is not None:
                parameter.main_grad.add_(parameter.grad)
        self.buffer.reduce()
