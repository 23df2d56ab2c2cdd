"""Right: speculation whose depth changes from step to step, with a graph for each depth.

What changes on the host chooses the graph and nothing else; lengths and positions advance on the device.
"""

from __future__ import annotations

import functools

import torch
import torch.nn as nn


class DraftRunner:
    def __init__(self, model: nn.Module, batch: int, most: int):
        self.model, self.most = model, most
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.positions = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.drafts: dict[int, torch.Tensor] = {}

    def _draft(self, depth: int) -> torch.Tensor:
        ids, out = self.ids, []
        for i in range(depth):
            ids = self.model(ids, self.positions + i).argmax(-1)
            out.append(ids)
        return torch.stack(out, dim=1)

    @torch.inference_mode()
    def capture(self) -> None:
        pool = torch.cuda.graph_pool_handle()
        for depth in range(self.most, 0, -1):
            run = functools.partial(self._draft, depth)
            for _ in range(2):
                run()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                self.drafts[depth] = run()
            self.graphs[depth] = graph

    def propose(self, ids: torch.Tensor, positions: torch.Tensor, depth: int) -> torch.Tensor:
        self.ids.copy_(ids)
        self.positions.copy_(positions)
        self.graphs[depth].replay()
        return self.drafts[depth].clone()


class DepthController:
    def __init__(self, most: int):
        self.most, self.depth = most, 1

    def observe(self, accepted: float) -> None:
        if accepted > 0.8 * self.depth:
            self.depth = min(self.most, self.depth + 1)
        elif accepted < 0.4 * self.depth:
            self.depth = max(1, self.depth - 1)


class SpeculativeEngine:
    def __init__(self, draft: DraftRunner, target: nn.Module):
        self.draft, self.target = draft, target
        self.controller = DepthController(draft.most)

    @torch.inference_mode()
    def step(self, ids: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        proposed = self.draft.propose(ids, positions, self.controller.depth)
        wanted = self.target(torch.cat([ids[:, None], proposed], dim=1)).argmax(-1)
        agree = (proposed == wanted[:, :-1]).long().cumprod(dim=1).sum(dim=1)
        self.controller.observe(agree.float().mean().item())
        return wanted.gather(1, agree[:, None]).squeeze(1), positions + agree + 1
