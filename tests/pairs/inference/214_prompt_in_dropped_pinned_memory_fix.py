"""After a server that uploads the prompt template once per graph, by a recorded copy.

Fixed form: the object that owns the graph owns the template.
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
        self.ids[: template.shape[0]].copy_(template, non_blocking=True)
        return self.model(self.ids)

    @torch.inference_mode()
    def capture(self, template_ids: list[int]) -> None:
        self.template = template = torch.tensor(template_ids).pin_memory()
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
