"""A captured step with a history, and one with the books where they belong."""

import torch


class Trainer:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.history = []
        self.updates = 0
        self.skipped = 0
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.loss = self.step()

    def step(self):
        self.updates += 1  # graphlint: ignore[CG403] -- counts captures, and is called so in the log
        self.history.append(len(self.history))  # expect: CG403
        return self.net(self.x).mean()

    def run(self, batches):
        for batch in batches:
            self.x.copy_(batch)
            self.graph.replay()
            self.skipped += int(self.loss > 100)  # ok: CG403
        return self.updates, max(self.history), self.skipped


class Careful:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.updates = 0
        self.losses = []
        self.x = torch.zeros(8, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.net(self.x)
        with torch.cuda.graph(self.graph):
            self.loss = self.net(self.x).mean()

    def run(self, batches):
        for batch in batches:
            self.x.copy_(batch)
            self.graph.replay()
            self.updates += 1  # ok: CG403
            self.losses.append(self.loss.item())  # ok: CG403
        return self.updates, self.losses
