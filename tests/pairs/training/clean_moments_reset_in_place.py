"""Clean: phases reset optimizer moments and averages in place, change a tensor rate by `fill_`, and validation uses a
second graph of the same weights; numbers are read between replays."""

import torch
from torch import nn


class Twin:
    def __init__(self, net, shape):
        self.net = net
        self.x, self.v = torch.zeros(shape, device="cuda"), torch.zeros(shape, device="cuda")
        self.rate = torch.tensor(1e-3, device="cuda")
        self.opt = torch.optim.Adam(net.parameters(), lr=self.rate, capturable=True)
        self.train_graph, self.val_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()

    def _train(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss.detach()

    @torch.no_grad()
    def _validate(self):
        return self.net(self.v).square().mean()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._train()
                self._validate()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.train_graph):
            self.loss = self._train()
        with torch.cuda.graph(self.val_graph):
            self.score = self._validate()

    def restart(self, rate):
        self.rate.fill_(rate)
        for state in self.opt.state.values():
            for value in state.values():
                value.zero_()

    def fit(self, loader, held_out, rates):
        best = float("inf")
        for rate in rates:
            self.restart(rate)
            for x in loader:
                self.x.copy_(x)
                self.train_graph.replay()
            scores = []
            for v in held_out:
                self.v.copy_(v)
                self.val_graph.replay()
                scores.append(self.score.item())
            mean = sum(scores) / max(len(scores), 1)
            if mean < best:
                best = mean
                print(f"rate {rate}: {mean:.4f}, last loss {self.loss.item():.4f}")
        return best


def main(loader, held_out):
    twin = Twin(nn.Linear(8, 8).cuda(), (4, 8))
    twin.capture()
    return twin.fit(loader, held_out, [1e-3, 3e-4, 1e-4])
