"""Drawn from speculative workers (target and draft share the graph memory pool, sglang#22930).

Symptom: the worker replays the draft graph, then the verify graph from the same pool, and only then
looks at the draft's scores, whose memory the verify graph uses for its temporaries.
"""

from operator import attrgetter

import torch
import torch.nn as nn


class Phase:
    def __init__(self, name: str, net: nn.Module, x: torch.Tensor, pool):
        self.name, self.x = name, x
        for _ in range(2):
            net(x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.scores = net(x)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.graph.replay()
        return self.scores


class Worker:
    @torch.inference_mode()
    def __init__(self, draft: nn.Module, target: nn.Module, batch: int, width: int):
        pool = torch.cuda.graph_pool_handle()
        x = torch.zeros(batch, width, device="cuda")
        self.verify = Phase("verify", target, x.clone(), pool)
        self.draft = Phase("draft", draft, x, pool)

    @torch.inference_mode()
    def step(self, hidden: torch.Tensor) -> torch.Tensor:
        guessed = self.draft(hidden)
        checked = self.verify(hidden)
        accepted = guessed.argmax(-1) == checked.argmax(-1)  # HAZARD: pool-misuse, stale-output
        return accepted.cumprod(0)


names = attrgetter("draft.name", "verify.name")
