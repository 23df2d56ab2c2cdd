"""Clean: requests come from threads, one worker owns the graphs and hands out copies; statistics are
read after the replay; a reload copies weights into place and an LRU drops graphs that nobody uses."""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass
class Request:
    tokens: torch.Tensor
    temperature: float = 1.0
    result: Future = field(default_factory=Future)


@dataclass
class Stats:
    steps: int = 0
    entropy: float = 0.0
    sizes: dict[int, int] = field(default_factory=dict)

    def note(self, size: int, entropy: float) -> None:
        self.steps += 1
        self.entropy += (entropy - self.entropy) / self.steps
        self.sizes[size] = self.sizes.get(size, 0) + 1


class Bucket:
    def __init__(self, model: nn.Module, rows: int, width: int, pool):
        self.rows = rows
        self.tokens = torch.zeros(rows, width, device="cuda")
        self.temperature = torch.ones(rows, 1, device="cuda")
        for _ in range(2):
            self._forward(model)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool, capture_error_mode="thread_local"):
            self.probs, self.entropy = self._forward(model)

    def _forward(self, model: nn.Module):
        logits = model(self.tokens) / self.temperature
        probs = torch.softmax(logits, dim=-1)
        return probs, -(probs * probs.clamp_min(1e-9).log()).sum(-1).mean()

    def run(self, batch: list[Request]) -> tuple[torch.Tensor, float]:
        n = len(batch)
        self.tokens.zero_()
        self.temperature.fill_(1.0)
        self.tokens[:n].copy_(torch.stack([r.tokens for r in batch]))
        self.temperature[:n, 0].copy_(torch.tensor([r.temperature for r in batch]))
        self.graph.replay()
        return self.probs[:n].clone(), self.entropy.item()


class Server:
    def __init__(self, model: nn.Module, width: int, sizes=(16, 8, 4, 2, 1), keep: int = 3):
        self.model, self.width, self.keep = model.eval(), width, keep
        self.sizes = sorted(sizes, reverse=True)
        self.buckets: OrderedDict[int, Bucket] = OrderedDict()
        self.pool = torch.cuda.graph_pool_handle()
        self.requests: queue.Queue[Request | None] = queue.Queue()
        self.stats = Stats()
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.requests.put(None)
        self.thread.join()

    def submit(self, tokens: torch.Tensor, temperature: float = 1.0) -> Future:
        request = Request(tokens, temperature)
        self.requests.put(request)
        return request.result

    def reload(self, state: dict[str, torch.Tensor]) -> None:
        with self.lock, torch.no_grad():
            for name, value in self.model.state_dict().items():
                value.copy_(state[name])

    def _bucket(self, n: int) -> Bucket:
        size = min(s for s in self.sizes if s >= n)
        if size in self.buckets:
            self.buckets.move_to_end(size)
            return self.buckets[size]
        bucket = self.buckets[size] = Bucket(self.model, size, self.width, self.pool)
        if len(self.buckets) > self.keep:
            self.buckets.popitem(last=False)
        return bucket

    def _batches(self):
        while (first := self.requests.get()) is not None:
            batch = [first]
            while len(batch) < self.sizes[0] and not self.requests.empty():
                following = self.requests.get()
                if following is None:
                    yield batch
                    return
                batch.append(following)
            yield batch

    @torch.inference_mode()
    def _serve(self) -> None:
        for batch in self._batches():
            with self.lock:
                bucket = self._bucket(len(batch))
                probs, entropy = bucket.run(batch)
            for request, row in zip(batch, probs):
                request.result.set_result(row.cpu())
            self.stats.note(bucket.rows, entropy)
