"""Source: Lightning-AI/pytorch-lightning#14213 (the naive sketch in the request).

Fixed: the module owns the input tensors, and every batch is copied into them.
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
        self.inputs = batch = [t.clone() for t in batch]
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
            self.loss = self.loss_fn(batch)
            self.loss.backward()

    def training_step(self, batch, batch_idx, opt):
        if batch_idx == 0:
            self.setup_graph(batch, opt)
        for own, new in zip(self.inputs, batch):
            own.copy_(new)
        self.g.replay()
        opt.step()
        return self.loss.detach().clone()


def fit(loader, d=16):
    module = LitRegressor(d).cuda()
    opt = module.configure_optimizers()
    for batch_idx, (x, y) in enumerate(loader):
        module.training_step((x.cuda(), y.cuda()), batch_idx, opt)
