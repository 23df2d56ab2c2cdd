"""Source: vllm-project/vllm#23811 (async scheduling), sgl-project/sglang#10275

Symptom: the sampled tokens are copied to pinned memory on a copy stream that never waits for the
stream of the replay; under load the copy overtakes the graph.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class AsyncResult:
    tokens: torch.Tensor
    done: torch.cuda.Event

    def get(self) -> list[int]:
        self.done.synchronize()
        return self.tokens.tolist()


class AsyncRunner:
    def __init__(self, model: nn.Module, batch: int):
        self.model = model.cuda().eval()
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.copy_stream = torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.ids).argmax(dim=-1)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.sampled = self.model(self.ids).argmax(dim=-1)

    def _fetch(self) -> AsyncResult:
        host = torch.empty(self.sampled.shape, dtype=torch.long, pin_memory=True)
        done = torch.cuda.Event()
        with torch.cuda.stream(self.copy_stream):
            host.copy_(self.sampled, non_blocking=True)  # HAZARD: stream-escape, stale-output
            done.record(self.copy_stream)
        return AsyncResult(host, done)

    def step(self, ids: torch.Tensor) -> AsyncResult:
        torch.cuda.current_stream().wait_stream(self.copy_stream)
        self.ids.copy_(ids)
        self.graph.replay()
        return self._fetch()
