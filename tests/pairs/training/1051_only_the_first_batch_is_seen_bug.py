"""Source: Lightning-AI/pytorch-lightning#14213 (the naive sketch in the request).

Symptom: the training loss falls to the loss of one memorised batch: the step of batch 0 was captured with that batch's own
tensors, and the later batches never get into them.
"""

import torch
from torch import nn


class LitRegressor(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 1))
        self.g = None

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)

    def loss_fn(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.net(x).squeeze(-1), y)

    def setup_graph(self, batch, opt):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                opt.zero_grad(set_to_none=True)
                self.loss_fn(batch).backward()
        torch.cuda.current_stream().wait_stream(s)
        opt.zero_grad(set_to_none=True)
        self.g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.g):
            self.loss = self.loss_fn(batch)  # ALT: rebind-static-input
            self.loss.backward()

    def training_step(self, batch, batch_idx, opt):
        if batch_idx == 0:
            self.setup_graph(batch, opt)
        self.g.replay()  # HAZARD: rebind-static-input
        opt.step()
        return self.loss.detach().clone()


def fit(loader, d=16):
    module = LitRegressor(d).cuda()
    opt = module.configure_optimizers()
    for batch_idx, (x, y) in enumerate(loader):
        module.training_step((x.cuda(), y.cuda()), batch_idx, opt)
