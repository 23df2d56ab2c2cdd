"""Clean: the draft graph's outputs are consumed, or written into rows of a buffer, before the next
replay; the last view is read once.
"""

import torch
import torch.nn as nn


class DraftRunner:
    def __init__(self, draft: nn.Module, batch: int, steps: int, vocab: int):
        self.draft, self.steps = draft, steps
        self.token = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.tokens = torch.zeros(steps, batch, dtype=torch.long, device="cuda")
        self.probs = torch.zeros(steps, batch, vocab, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.draft(self.token)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            logits = self.draft(self.token)
            self.dist, self.next = logits.softmax(-1), logits.argmax(-1)

    def propose(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.token.copy_(token)
        for i in range(self.steps):
            self.graph.replay()
            self.tokens[i].copy_(self.next)
            self.probs[i] = self.dist
            self.token.copy_(self.next)
        return self.tokens.clone(), self.probs.clone()


def verify(runner: DraftRunner, target: nn.Module, token: torch.Tensor, rounds: int) -> list[list[int]]:
    accepted = []
    for _ in range(rounds):
        tokens, probs = runner.propose(token)
        wanted = target(tokens).softmax(-1)
        ratio = wanted.gather(-1, tokens[..., None]) / probs.gather(-1, tokens[..., None])
        keep = (ratio.squeeze(-1) > 0.5).cumprod(0)
        accepted.append(keep.sum(0).tolist())
        token = tokens[-1]
    return accepted
