"""Source: sgl-project/sglang#14412 (overlap scheduler), vllm-project/vllm#26498

Fixed form: the handle waits for the event that was recorded after the copy.
"""

import torch
import torch.nn as nn


class PendingTokens:
    def __init__(self, host: torch.Tensor, ready: torch.cuda.Event):
        self.host, self.ready = host, ready

    def result(self) -> list[int]:
        self.ready.synchronize()
        return self.host.tolist()


class OverlapRunner:
    def __init__(self, model: nn.Module, batch: int):
        self.model = model
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.host = [torch.zeros(batch, dtype=torch.long, pin_memory=True) for _ in range(2)]
        self.ready = [torch.cuda.Event() for _ in range(2)]
        self.turn = 0
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.ids).argmax(-1)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self.model(self.ids).argmax(-1)

    def submit(self, ids: torch.Tensor) -> PendingTokens:
        self.turn ^= 1
        host, ready = self.host[self.turn], self.ready[self.turn]
        self.ids.copy_(ids, non_blocking=True)
        self.graph.replay()
        host.copy_(self.tokens, non_blocking=True)
        ready.record()
        return PendingTokens(host, ready)


def generate(runner: OverlapRunner, ids: torch.Tensor, steps: int) -> list[list[int]]:
    produced = []
    pending = runner.submit(ids)
    for _ in range(steps):
        produced.append(pending.result())
        pending = runner.submit(runner.tokens)
    return produced
