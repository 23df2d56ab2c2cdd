"""Fixed form: a copy is put into the queue."""

import queue
import threading

import torch
import torch.nn as nn


class AsyncEngine:
    def __init__(self, model: nn.Module, batch: int, width: int):
        self.model = model
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.results: queue.Queue = queue.Queue(maxsize=4)
        with torch.inference_mode():
            for _ in range(2):
                model(self.x)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = model(self.x)

    def run(self, inputs: list[torch.Tensor]) -> None:
        for x in inputs:
            self.x.copy_(x)
            self.graph.replay()
            self.results.put(self.y[: x.shape[0]].clone())
        self.results.put(None)

    def collect(self) -> list[torch.Tensor]:
        outputs = []
        while (item := self.results.get()) is not None:
            outputs.append(item.cpu())
        return outputs


def process(model: nn.Module, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    engine = AsyncEngine(model, 8, 64)
    worker = threading.Thread(target=engine.run, args=(inputs,))
    worker.start()
    results = engine.collect()
    worker.join()
    return results
