"""A curriculum lengthens the sequence from stage to stage with a slice bound on the trainer; the captured
step was recorded for the length of the first stage."""

import torch
from torch import nn


class Curriculum:
    def __init__(self, start, stop, every):
        self.start, self.stop, self.every = start, stop, every

    def length(self, step):
        return min(self.stop, self.start + 64 * (step // self.every))


class LMTrainer:
    def __init__(self, vocab, width, batch, longest):
        self.embed = nn.Embedding(vocab, width).cuda()
        self.head = nn.Linear(width, vocab).cuda()
        self.ids = torch.zeros(batch, longest, dtype=torch.int64, device="cuda")
        self.active = longest
        self.graph = torch.cuda.CUDAGraph()

    def loss(self):
        ids = self.ids[:, : self.active]  # HAZARD: frozen-scalar
        logits = self.head(self.embed(ids[:, :-1]))
        return nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].reshape(-1))

    def backward(self):
        self.embed.zero_grad(set_to_none=True)
        self.head.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        return loss

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.backward()
        torch.cuda.current_stream().wait_stream(s)
        with torch.cuda.graph(self.graph):
            self.value = self.backward()

    def step(self, ids, length):
        self.active = length  # ALT: frozen-scalar
        self.ids.copy_(ids)
        self.graph.replay()
        return self.value.clone()


def main(loader):
    trainer = LMTrainer(1000, 64, 4, 512)
    curriculum = Curriculum(64, 512, 1000)
    trainer.active = curriculum.length(0)
    trainer.capture()
    for step, ids in enumerate(loader):
        trainer.step(ids, curriculum.length(step))
