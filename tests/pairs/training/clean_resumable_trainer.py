"""Clean: a trainer that resumes before it captures, saves from copies, evaluates eagerly and offers hooks;
whatever reads the device runs between replays."""

import os

import torch
from torch import nn


class Trainer:
    def __init__(self, net, shape, path="last.pt"):
        self.net = net.cuda()
        self.x = torch.zeros(shape, device="cuda")
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-3, capturable=True)
        self.path, self.step_count = path, 0
        self.graph, self.loss = None, None
        self.hooks = {"step": [], "epoch": []}

    def register(self, event, fn):
        self.hooks[event].append(fn)
        return fn

    def load(self):
        if os.path.exists(self.path):
            saved = torch.load(self.path, map_location="cpu")
            self.net.load_state_dict(saved["net"])
            self.opt.load_state_dict(saved["opt"])
            self.step_count = saved["step"]

    def save(self):
        weights = {name: value.detach().cpu() for name, value in self.net.state_dict().items()}
        torch.save({"net": weights, "opt": self.opt.state_dict(), "step": self.step_count}, self.path)

    def _iteration(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0, foreach=True)
        self.opt.step()
        return loss

    def _capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._iteration()

    def _call(self, event):
        for fn in self.hooks[event]:
            fn(self)

    @torch.no_grad()
    def evaluate(self, loader):
        self.net.eval()
        values = [self.net(x.cuda()).mean().item() for x in loader]
        self.net.train()
        return sum(values) / max(1, len(values))

    def fit(self, loader, held_out, epochs):
        self.load()
        for _ in range(epochs):
            for x in loader:
                self.x.copy_(x)
                if self.graph is None:
                    self._capture()
                self.graph.replay()
                self.step_count += 1
                self._call("step")
            self._call("epoch")
            print(self.step_count, self.evaluate(held_out))
            self.save()


def main(loader, held_out):
    trainer = Trainer(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1)), (4, 8))
    trainer.register("step", lambda t: t.step_count % 100 or print(f"loss {t.loss.item():.4f}"))
    trainer.fit(loader, held_out, 3)
