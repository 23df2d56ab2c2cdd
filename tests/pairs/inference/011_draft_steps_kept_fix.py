"""Fixed form: each step's token is copied into a row of a buffer."""

import torch
import torch.nn as nn


class DraftGraph:
    def __init__(self, draft: nn.Module, batch: int):
        self.draft = draft
        self.token = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.draft(self.token)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            logits = self.draft(self.token)
            self.probs = logits.softmax(-1)
            self.next = logits.argmax(-1)

    def advance(self, token: torch.Tensor):
        self.token.copy_(token)
        self.graph.replay()
        return self.next, self.probs


class Speculator:
    def __init__(self, draft: nn.Module, batch: int, steps: int, vocab: int):
        self.runner = DraftGraph(draft, batch)
        self.runner.capture()
        self.steps = steps

    def propose(self, token: torch.Tensor):
        tokens, probs = [], []
        for _ in range(self.steps):
            token, dist = self.runner.advance(token)
            tokens.append(token.clone())
            probs.append(dist.clone())
        return torch.stack(tokens), torch.stack(probs)
