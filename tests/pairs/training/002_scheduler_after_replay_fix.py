"""A cosine schedule is stepped once per replay, and writes the rate in place: it is a tensor on the
device."""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR


def build_optimizer(params, lr):
    return torch.optim.AdamW(params, lr=lr, weight_decay=0.05, capturable=True)


class Trainer:
    def __init__(self, net, sample, total):
        self.net = net
        self.x = sample.detach().clone()
        self.opt = build_optimizer(net.parameters(), torch.tensor(3e-4, device="cuda"))
        self.scheduler = CosineAnnealingLR(self.opt, T_max=total)
        self.graph = None

    def _train_step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).abs().mean()
        loss.backward()
        self.opt.step()
        return loss

    def _capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                self._train_step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._train_step()

    def fit(self, batches):
        for batch in batches:
            self.x.copy_(batch)
            if self.graph is None:
                self._capture()
            self.graph.replay()
            self.scheduler.step()


def main(batches):
    sample = torch.randn(32, 16, device="cuda")
    trainer = Trainer(nn.Linear(16, 16).cuda(), sample, total=1000)
    trainer.fit(batches)
