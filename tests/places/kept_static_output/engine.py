"""A graphed decoder and what its callers do with the logits."""

import torch


class Decoder:
    def __init__(self, model: torch.nn.Module, batch: int):
        self.model = model
        self.tokens = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.model(self.tokens)
        with torch.cuda.graph(self.graph):
            self.logits = self.model(self.tokens)

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        self.tokens.copy_(tokens)
        self.graph.replay()
        return self.logits

    def step_copied(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.step(tokens).clone()


class Speculation:
    def __init__(self, decoder: Decoder):
        self.decoder = decoder
        self.drafts: dict[int, torch.Tensor] = {}

    def draft(self, tokens: torch.Tensor, depth: int):
        for level in range(depth):
            self.drafts[level] = self.decoder.step(tokens)  # expect: CG201
            tokens = self.drafts[level].argmax(-1)
        return torch.cat([self.drafts[level] for level in range(depth)])

    def probabilities(self, tokens: torch.Tensor, depth: int):
        kept = []
        for _ in range(depth):
            kept.append(torch.softmax(self.decoder.step(tokens), -1))  # ok: CG201
        return torch.stack(kept)
