"""Source: advice in pytorch/pytorch#60691 followed too literally.

Fixed: gradients are clipped in every mode; the finiteness check is left to the caller.
"""

import torch
from torch import nn


def clip(parameters, limit):
    return nn.utils.clip_grad_norm_(parameters, limit)


class LanguageStep:
    def __init__(self, vocab, d, length):
        self.net = nn.Sequential(nn.Embedding(vocab, d), nn.Linear(d, vocab)).cuda()
        self.tokens = torch.zeros(8, length + 1, dtype=torch.int64, device="cuda")
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=3e-4, capturable=True)

    def run(self):
        self.opt.zero_grad(set_to_none=True)
        logits = self.net(self.tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), self.tokens[:, 1:].flatten())
        loss.backward()
        clip(self.net.parameters(), 1.0)
        self.opt.step()
        return loss

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.run()

    def __call__(self, tokens):
        self.tokens.copy_(tokens)
        self.graph.replay()
        return self.loss
