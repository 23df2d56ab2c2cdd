"""After a server that uploads the prompt template once per graph, by a recorded copy.

Symptom: the pinned template is a local name of the method that captures; after it returns the memory goes back
to the allocator and replays upload what others have put there.
"""

from __future__ import annotations

import torch
import torch.nn as nn


class TemplateGraph:
    def __init__(self, model: nn.Module, length: int):
        self.model = model
        self.ids = torch.zeros(length, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _run(self, template: torch.Tensor) -> torch.Tensor:
        self.ids[: template.shape[0]].copy_(template, non_blocking=True)  # ALT: stale-pointer, pageable-copy
        return self.model(self.ids)

    @torch.inference_mode()
    def capture(self, template_ids: list[int]) -> None:
        template = torch.tensor(template_ids).pin_memory()  # HAZARD: stale-pointer
        for _ in range(2):
            self._run(template)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self._run(template)

    def complete(self, rest: torch.Tensor) -> torch.Tensor:
        self.ids[-rest.shape[0] :].copy_(rest)
        self.graph.replay()
        return self.logits.clone()


def serve(model: nn.Module, template: list[int], requests) -> list[int]:
    runner = TemplateGraph(model.cuda(), 512)
    runner.capture(template)
    return [runner.complete(request.cuda()).argmax(-1)[-1].item() for request in requests]
