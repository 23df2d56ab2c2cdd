from __future__ import annotations

import torch
from torch import nn

from .config import TrainingConfig
from .core.grad_buffer import DistributedModel


class MixedPrecisionOptimizer:
    """Steps on copies of the parameters in full precision and writes them back."""

    def __init__(self, model: DistributedModel, config: TrainingConfig) -> None:
        self.config = config
        self.model_params: list[nn.Parameter] = list(model.buffer.parameters)
        self.main_params = [each.detach().clone().float() for each in self.model_params]
        self.inner = torch.optim.AdamW(self.main_params, lr=config.lr)

    def _grads_to_main(self) -> None:
        for model_param, main_param in zip(self.model_params, self.main_params):
            main_param.grad = model_param.main_grad

    def _main_to_model(self) -> None:
        torch._foreach_copy_(self.model_params, self.main_params)

    @torch.no_grad()
    def step(self) -> float:
        self._grads_to_main()
        norm = torch.nn.utils.clip_grad_norm_(self.main_params, self.config.clip_grad)
        self.inner.step()
        self._main_to_model()
        return norm.item()

    def reload_model_params(self) -> None:
        with torch.no_grad():
            torch._foreach_copy_(self.main_params, self.model_params)

    def state_dict(self) -> dict:
        return self.inner.state_dict()

    def load_state_dict(self, state: dict) -> None:
        self.inner.load_state_dict(state)
