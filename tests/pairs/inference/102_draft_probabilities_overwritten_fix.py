"""Fixed form: each of the two models keeps a pool of its own."""

import torch
import torch.nn as nn


class OneGraph:
    def __init__(self, net: nn.Module, shape: tuple[int, ...], pool=None):
        self.net = net
        self.ids = torch.zeros(shape, dtype=torch.long, device="cuda")
        with torch.inference_mode():
            for _ in range(2):
                net(self.ids).softmax(-1)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, pool=pool):
                self.probs = net(self.ids).softmax(-1)

    def replay(self, ids: torch.Tensor) -> torch.Tensor:
        self.ids.copy_(ids)
        self.graph.replay()
        return self.probs


class Speculator:
    def __init__(self, target: nn.Module, draft: nn.Module, batch: int, steps: int):
        self.target = OneGraph(target, (batch, steps))
        self.draft = OneGraph(draft, (batch, steps))

    def accept(self, ids: torch.Tensor) -> torch.Tensor:
        guessed = self.draft.replay(ids)
        wanted = self.target.replay(ids)
        ratio = wanted / guessed.clamp(min=1e-6)
        return (ratio.amax(-1) > 0.5).cumprod(-1).sum(-1)


def run(target: nn.Module, draft: nn.Module, batches: list[torch.Tensor]) -> list[list[int]]:
    speculator = Speculator(target, draft, *batches[0].shape)
    return [speculator.accept(ids.cuda()).tolist() for ids in batches]
