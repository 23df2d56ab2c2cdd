"""Clean: evaluation uses averaged weights that are exchanged with the trained ones by copies, before and after;
the graph's addresses stay, and the counters that decide about it are the loop's own."""

import contextlib

import torch
from torch import nn


class WeightAverage:
    def __init__(self, net, decay=0.995):
        self.live = list(net.parameters())
        self.slow = [p.detach().clone() for p in self.live]
        self.saved = [torch.empty_like(p) for p in self.slow]
        self.decay = decay

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.slow, [p.detach() for p in self.live], 1.0 - self.decay)

    @contextlib.contextmanager
    def applied(self):
        with torch.no_grad():
            for live, slow, saved in zip(self.live, self.slow, self.saved, strict=True):
                saved.copy_(live)
                live.copy_(slow)
        try:
            yield
        finally:
            with torch.no_grad():
                for live, saved in zip(self.live, self.saved, strict=True):
                    live.copy_(saved)


class Trainer:
    def __init__(self, net, shape):
        self.net = net
        self.average = WeightAverage(net)
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.x = torch.zeros(shape, device="cuda")
        self.done = 0

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        self.average.update()
        return loss.detach()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._step()

    @torch.no_grad()
    def evaluate(self, batches):
        with self.average.applied():
            scores = [self.net(x.cuda()).mean().item() for x in batches]
        return sum(scores) / max(len(scores), 1)

    def fit(self, loader, held_out, every=100, budget=1000):
        best = float("inf")
        for x in loader:
            if self.done >= budget:
                break
            self.x.copy_(x)
            self.graph.replay()
            self.done += 1
            if self.done % every == 0:
                best = min(best, self.evaluate(held_out))
                print(f"{self.done}: {self.loss.item():.4f} {best:.4f}")
        return best


def main(loader, held_out):
    trainer = Trainer(nn.Linear(8, 8).cuda(), (4, 8))
    trainer.capture()
    return trainer.fit(loader, held_out)
