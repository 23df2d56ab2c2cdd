from __future__ import annotations

import torch

from .config import EngineConfig
from .kv_cache import Request
from .model_runner import ModelRunner


class Worker:
    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.device = torch.device(config.device)

    def init_device(self) -> None:
        torch.cuda.set_device(0)
        self.runner = ModelRunner(self.config, self.device)

    def load_model(self) -> None:
        self.runner.load_model()

    def warm_up(self) -> None:
        self.runner.initialize_kv_cache()
        self.runner.capture_model()

    def update_weights(self, weights: dict[str, torch.Tensor]) -> None:
        self.runner.model.load_weights(weights)

    def execute_model(self, requests: list[Request]) -> list[int]:
        return self.runner.execute_model(requests)
