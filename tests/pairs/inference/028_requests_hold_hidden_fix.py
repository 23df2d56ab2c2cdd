"""Fixed form: the row is cloned."""

from dataclasses import dataclass, field

import torch
import torch.nn as nn


@dataclass
class Request:
    tokens: list[int] = field(default_factory=list)
    hidden: torch.Tensor | None = None


@dataclass
class StepOutput:
    tokens: torch.Tensor
    hidden: torch.Tensor


class TargetGraph:
    def __init__(self, model: nn.Module, batch: int, width: int):
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.output = self._capture(model)

    @torch.inference_mode()
    def _capture(self, model: nn.Module) -> StepOutput:
        for _ in range(2):
            model(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            hidden = model(self.x)
            tokens = hidden.argmax(-1)
        return StepOutput(tokens, hidden)

    def __call__(self, x: torch.Tensor) -> StepOutput:
        self.x[: x.shape[0]].copy_(x)
        self.x[x.shape[0] :].zero_()
        self.graph.replay()
        return self.output


class Scheduler:
    def __init__(self, model: nn.Module, batch: int, width: int):
        self.target = TargetGraph(model, batch, width)

    def step(self, x: torch.Tensor, requests: list[Request]) -> list[Request]:
        out = self.target(x)
        tokens = out.tokens.tolist()
        settled = []
        for i, request in enumerate(requests):
            request.tokens.append(tokens[i])
            if request.hidden is not None:
                drift = (out.hidden[i] - request.hidden).norm()
                if drift.item() < 1e-3:
                    settled.append(request)
            request.hidden = out.hidden[i].clone()
        return settled
