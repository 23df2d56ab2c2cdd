"""Drawn from overlap scheduling in sglang and vllm (results travel on a stream of their own).

Symptom: the copy of the sampled tokens to pinned memory is issued on the copy stream, which never
waits for the replay; requests sometimes get the tokens of the step before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Pending:
    done: torch.cuda.Event
    tokens: torch.Tensor
    requests: list[int]


class ResultMover:
    def __init__(self, batch: int, depth: int = 2):
        self.stream = torch.cuda.Stream()
        self.slots = deque(torch.zeros(batch, dtype=torch.long, pin_memory=True) for _ in range(depth))

    def send(self, tokens: torch.Tensor, requests: list[int]) -> Pending:
        slot = self.slots.popleft()
        done = torch.cuda.Event()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            slot.copy_(tokens, non_blocking=True)
            done.record()
        return Pending(done, slot, requests)

    def receive(self, pending: Pending) -> dict[int, int]:
        pending.done.synchronize()
        result = dict(zip(pending.requests, pending.tokens.tolist()))
        self.slots.append(pending.tokens)
        return result


class OverlapLoop:
    def __init__(self, model: nn.Module, batch: int):
        self.model = model
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.mover = ResultMover(batch)
        self.graph = torch.cuda.CUDAGraph()
        self.tokens: torch.Tensor | None = None

    def _sample(self) -> torch.Tensor:
        return self.model(self.ids).argmax(-1)

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._sample()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.tokens = self._sample()

    @torch.inference_mode()
    def run(self, batches) -> list[dict[int, int]]:
        results, pending = [], None
        for ids, requests in batches:
            self.ids.copy_(ids)
            self.graph.replay()
            following = self.mover.send(self.tokens, requests)
            if pending is not None:
                results.append(self.mover.receive(pending))
            torch.cuda.current_stream().wait_stream(self.mover.stream)
            pending = following
        if pending is not None:
            results.append(self.mover.receive(pending))
        return results
