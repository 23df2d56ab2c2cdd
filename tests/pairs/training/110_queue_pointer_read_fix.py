"""Contrastive learning with a queue of keys: the write position is a buffer on the device, and the enqueue
step turns it into a Python integer for its slices."""

import torch
from torch import nn


class MomentumContrast(nn.Module):
    def __init__(self, make, dim, length, momentum=0.99):
        super().__init__()
        self.query, self.key = make(), make()
        self.length, self.momentum = length, momentum
        self.register_buffer("queue", nn.functional.normalize(torch.randn(dim, length), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))
        for p in self.key.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def _follow(self):
        for slow, fast in zip(self.key.parameters(), self.query.parameters(), strict=False):
            slow.lerp_(fast, 1.0 - self.momentum)

    @torch.no_grad()
    def _enqueue(self, keys):
        size = keys.shape[0]
        columns = (self.queue_ptr + torch.arange(size, device=keys.device)) % self.length
        self.queue.index_copy_(1, columns, keys.T)
        self.queue_ptr.add_(size).remainder_(self.length)

    def forward(self, first, second):
        q = nn.functional.normalize(self.query(first), dim=1)
        with torch.no_grad():
            self._follow()
            k = nn.functional.normalize(self.key(second), dim=1)
        near = (q * k).sum(-1, keepdim=True)
        logits = torch.cat([near, q @ self.queue.clone()], dim=1)
        self._enqueue(k)
        return -(logits / 0.07).log_softmax(-1)[:, 0].mean()


class Pretraining:
    def __init__(self, model, batch, width):
        self.model = model
        self.views = [torch.zeros(batch, width, device="cuda") for _ in range(2)]
        self.opt = torch.optim.SGD(model.query.parameters(), lr=0.03)

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.model(*self.views)
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step()


def main():
    model = MomentumContrast(lambda: nn.Linear(32, 16), 16, 4096).cuda()
    run = Pretraining(model, 64, 32)
    run.capture()
    return run
