"""Fixed form: one graph is captured for each number of steps."""

import torch
import torch.nn as nn


class DraftController:
    def __init__(self, low: int, high: int):
        self.low, self.high = low, high
        self.steps = high

    def report(self, accepted: float) -> None:
        if accepted < 0.4:
            self.steps = max(self.low, self.steps - 1)
        elif accepted > 0.8:
            self.steps = min(self.high, self.steps + 1)


class DraftRunner:
    def __init__(self, net: nn.Module, controller: DraftController, batch: int):
        self.net, self.controller = net, controller
        self.token = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.drafted = torch.zeros(controller.high, batch, dtype=torch.long, device="cuda")
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        for steps in range(controller.high, controller.low - 1, -1):
            self._capture(steps)

    def _draft(self, steps: int) -> None:
        token = self.token
        for i in range(steps):
            token = self.net(token).argmax(-1)
            self.drafted[i].copy_(token)

    @torch.inference_mode()
    def _capture(self, steps: int) -> None:
        for _ in range(2):
            self._draft(steps)
        torch.cuda.synchronize()
        self.graphs[steps] = torch.cuda.CUDAGraph()
        pool = next(iter(self.graphs.values())).pool() if len(self.graphs) > 1 else None
        with torch.cuda.graph(self.graphs[steps], pool=pool):
            self._draft(steps)

    def propose(self, token: torch.Tensor) -> torch.Tensor:
        self.token.copy_(token)
        self.graphs[self.controller.steps].replay()
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
