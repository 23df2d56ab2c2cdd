"""Symptom: a controller adapts the number of draft steps to the acceptance rate; the captured draft loop
keeps the number of the capture.
"""

import torch
import torch.nn as nn


class DraftController:
    def __init__(self, low: int, high: int):
        self.low, self.high = low, high
        self.steps = high

    def report(self, accepted: float) -> None:
        if accepted < 0.4:
            self.steps = max(self.low, self.steps - 1)  # HAZARD: frozen-scalar
        elif accepted > 0.8:
            self.steps = min(self.high, self.steps + 1)  # HAZARD: frozen-scalar


class DraftRunner:
    def __init__(self, net: nn.Module, controller: DraftController, batch: int):
        self.net, self.controller = net, controller
        self.token = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.drafted = torch.zeros(controller.high, batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self._capture()

    def _draft(self) -> None:
        token = self.token
        for i in range(self.controller.steps):  # ALT: frozen-scalar
            token = self.net(token).argmax(-1)
            self.drafted[i].copy_(token)

    @torch.inference_mode()
    def _capture(self) -> None:
        for _ in range(2):
            self._draft()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self._draft()

    def propose(self, token: torch.Tensor) -> torch.Tensor:
        self.token.copy_(token)
        self.graph.replay()
        return self.drafted[: self.controller.steps].clone()


class SpeculativeLoop:
    def __init__(self, draft: nn.Module, target: nn.Module, batch: int):
        self.controller = DraftController(1, 5)
        self.draft = DraftRunner(draft, self.controller, batch)
        self.target = target

    def round(self, token: torch.Tensor) -> torch.Tensor:
        proposed = self.draft.propose(token)
        wanted = self.target(proposed).argmax(-1)
        same = (wanted == proposed).float().mean().item()
        self.controller.report(same)
        return wanted[-1]
