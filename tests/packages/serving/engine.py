from __future__ import annotations

import torch

from .config import EngineConfig
from .kv_cache import KVCacheManager, Request
from .worker import Worker


class Engine:
    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.cache = KVCacheManager(config.cache.num_blocks, config.cache.block_size)
        self.waiting: list[Request] = []
        self.running: list[Request] = []
        self.worker = Worker(config)
        self.worker.init_device()
        self.worker.load_model()
        self.worker.warm_up()

    def add_request(self, request: Request) -> None:
        self.waiting.append(request)

    def update_weights(self, weights: dict[str, torch.Tensor]) -> None:
        self.worker.update_weights(weights)

    def step(self) -> list[Request]:
        while self.waiting and len(self.running) < self.config.scheduler.max_num_seqs:
            self.running.append(self.waiting.pop(0))
        if not self.running:
            return []
        for request in self.running:
            self.cache.allocate(request)
        for request, token in zip(self.running, self.worker.execute_model(self.running)):
            request.output.append(token)
        done = [request for request in self.running if request.finished]
        for request in done:
            self.cache.release(request)
        self.running = [request for request in self.running if not request.finished]
        return done


def main() -> None:
    engine = Engine(EngineConfig())
    for n in range(8):
        engine.add_request(Request(str(n), prompt=[1, 2, 3]))
    while engine.running or engine.waiting:
        engine.step()


if __name__ == "__main__":
    main()
