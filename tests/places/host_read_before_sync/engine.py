"""Decoders that bring their token to the host inside the graph."""

import torch
from buffers import Answer


class Decoder:
    def __init__(self, vocabulary: int):
        self.logits = torch.zeros(vocabulary, device="cuda")
        self.answer = Answer()
        self.scores = torch.zeros(vocabulary, pin_memory=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            best = self.logits.argmax(-1, keepdim=True)
            self.answer.token.copy_(best, non_blocking=True)
            self.probabilities = torch.softmax(self.logits, -1)

    def step(self, logits: torch.Tensor):
        self.logits.copy_(logits)
        self.graph.replay()
        return self.answer.read()

    def step_in_order(self, logits: torch.Tensor):
        self.logits.copy_(logits)
        self.graph.replay()
        self.answer.done.record()
        return self.answer.read_when_done()

    def stop(self, logits: torch.Tensor):
        self.logits.copy_(logits)
        self.graph.replay()
        if self.answer.token[0] == 2:  # expect: CG204
            return True
        return False

    def shape(self):
        self.graph.replay()
        return self.answer.token.shape[0]  # ok: CG204

    def ranked(self, logits: torch.Tensor):
        self.logits.copy_(logits)
        self.graph.replay()
        self.scores.copy_(self.probabilities, non_blocking=True)
        return self.scores.tolist()  # expect: CG204

    def ranked_in_order(self, logits: torch.Tensor):
        self.logits.copy_(logits)
        self.graph.replay()
        self.scores.copy_(self.probabilities)
        return self.scores.tolist()  # ok: CG204
