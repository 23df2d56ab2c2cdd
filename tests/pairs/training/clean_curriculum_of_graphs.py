"""Clean: one graph for each length of a curriculum, chosen by the current length; the learning rate is a
tensor, the counters of the loop live outside the captured step."""

import torch
from torch import nn


class LengthGraph:
    def __init__(self, trainer, length):
        self.ids = torch.zeros(trainer.batch, length, dtype=torch.int64, device="cuda")
        self.trainer = trainer
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=trainer.pool):
            self.loss = self.run()

    def run(self):
        return self.trainer.iteration(self.ids)


class Trainer:
    def __init__(self, vocab, width, batch, lengths):
        self.model = nn.Sequential(nn.Embedding(vocab, width), nn.Linear(width, vocab)).cuda()
        self.batch = batch
        self.lr = torch.full((), 1e-3, device="cuda")
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=self.lr, capturable=True)
        self.pool = torch.cuda.graph_pool_handle()
        self.lengths = sorted(lengths, reverse=True)
        self.graphs = {length: LengthGraph(self, length) for length in self.lengths}
        self.steps, self.tokens = 0, 0

    def iteration(self, ids):
        self.opt.zero_grad(set_to_none=True)
        logits = self.model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].reshape(-1))
        loss.backward()
        self.opt.step()
        return loss

    def length_at(self, step):
        stage = min(step // 1000, len(self.lengths) - 1)
        return self.lengths[-1 - stage]

    def step(self, ids):
        entry = self.graphs[self.length_at(self.steps)]
        entry.ids.copy_(ids[:, : entry.ids.shape[1]])
        self.lr.fill_(1e-3 * min(1.0, (self.steps + 1) / 100))
        entry.graph.replay()
        self.steps += 1
        self.tokens += entry.ids.numel()
        return entry.loss


def train(loader):
    trainer = Trainer(1000, 64, 8, (64, 128, 256))
    for ids in loader:
        loss = trainer.step(ids)
        if trainer.steps % 50 == 0:
            print(trainer.steps, trainer.tokens, f"{loss.item():.3f}")
