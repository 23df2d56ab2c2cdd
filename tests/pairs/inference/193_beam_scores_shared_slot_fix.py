"""Each step's record is a copy."""

import torch
import torch.nn as nn


class History:
    def __init__(self):
        self.parents: list[torch.Tensor] = []
        self.tokens: list[torch.Tensor] = []

    def push(self, packed: torch.Tensor) -> None:
        self.parents.append(packed[0])
        self.tokens.append(packed[1])

    def backtrack(self, beam: int) -> list[int]:
        path = []
        for parents, tokens in zip(reversed(self.parents), reversed(self.tokens)):
            path.append(int(tokens[beam]))
            beam = int(parents[beam])
        return path[::-1]


class BeamGraph:
    def __init__(self, model: nn.Module, beams: int, vocabulary: int):
        self.model, self.beams, self.vocabulary = model, beams, vocabulary
        self.ids = torch.zeros(beams, dtype=torch.long, device="cuda")
        self.scores = torch.zeros(beams, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def _step(self) -> torch.Tensor:
        total = self.model(self.ids).log_softmax(-1) + self.scores[:, None]
        best, index = total.flatten().topk(self.beams)
        self.scores.copy_(best)
        self.ids.copy_(index % self.vocabulary)
        return torch.stack([index // self.vocabulary, index % self.vocabulary])

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self._step()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.packed = self._step()

    @torch.inference_mode()
    def search(self, start: torch.Tensor, steps: int) -> list[int]:
        self.ids.copy_(start)
        self.scores.zero_()
        history = History()
        for _ in range(steps):
            self.graph.replay()
            history.push(self.packed.clone())
        return history.backtrack(0)
