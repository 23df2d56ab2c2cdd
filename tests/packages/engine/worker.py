from __future__ import annotations

import logging

import torch

from .config import EngineConfig
from .model_runner import ModelRunner
from .requests import Request, make_batch

logger = logging.getLogger(__name__)


class Worker:
    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.device = torch.device(config.device)
        self.runner: ModelRunner | None = None

    def init_device(self) -> None:
        torch.cuda.set_device(self.device)
        self.runner = ModelRunner(self.config, self.device)
        self.runner.initialize_kv_cache()

    def compile_or_warm_up(self) -> None:
        if self.config.graphs.enabled:
            self.runner.capture_model()

    def execute(self, requests: list[Request]) -> None:
        cache = self.config.cache
        batch = make_batch(requests, cache.block_size, cache.max_blocks_per_request)
        for request, token in zip(requests, self.runner.execute(batch)):
            request.tokens.append(token)


class Engine:
    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.worker = Worker(config)
        self.worker.init_device()
        self.worker.compile_or_warm_up()
        self.waiting: list[Request] = []

    def add(self, request: Request) -> None:
        self.waiting.append(request)

    def step(self) -> list[Request]:
        running = self.waiting[: self.config.max_batch]
        self.worker.execute(running)
        self.waiting = [each for each in self.waiting if not each.finished]
        return [each for each in running if each.finished]
