"""Drawn from language models with truncated back-propagation through time, captured as a whole step.

Fixed: the state is copied into the tensors that the step reads.
"""

from __future__ import annotations

import torch
from torch import nn

State = tuple[torch.Tensor, torch.Tensor]


class CharModel(nn.Module):
    def __init__(self, vocab: int, dim: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, layers)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        hidden, state = self.rnn(self.embed(tokens), state)
        return self.out(hidden), state


def repackage(state: State) -> State:
    return tuple(part.detach() for part in state)


class ChunkTrainer:
    def __init__(self, model: CharModel, batch: int, bptt: int, layers: int, dim: int, lr: float) -> None:
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.tokens = torch.zeros(bptt, batch, dtype=torch.long, device="cuda")
        self.targets = torch.zeros_like(self.tokens)
        zeros = torch.zeros(layers, batch, dim, device="cuda")
        self.state: State = (zeros, zeros.clone())
        self.graph = torch.cuda.CUDAGraph()

    def step(self) -> torch.Tensor:
        self.opt.zero_grad(set_to_none=True)
        logits, state = self.model(self.tokens, self.state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), self.targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.25, foreach=True)
        self.opt.step()
        for held, new in zip(self.state, repackage(state)):
            held.copy_(new)
        return loss.detach()

    def capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def epoch(self, corpus: torch.Tensor) -> float:
        total, bptt = torch.zeros((), device="cuda"), self.tokens.shape[0]
        chunks = (corpus.shape[0] - 1) // bptt
        for i in range(chunks):
            begin = i * bptt
            self.tokens.copy_(corpus[begin : begin + bptt])
            self.targets.copy_(corpus[begin + 1 : begin + bptt + 1])
            self.graph.replay()
            total += self.loss
        return (total / chunks).exp().item()


def main(corpus: torch.Tensor) -> None:
    trainer = ChunkTrainer(CharModel(128, 256, 2).cuda(), 20, 35, 2, 256, lr=5.0)
    trainer.capture()
    for number in range(10):
        print(number, trainer.epoch(corpus.cuda()))
