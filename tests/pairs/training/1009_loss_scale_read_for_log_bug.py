"""Source: pytorch/pytorch#55562 and a question on scaled captured steps.

Symptom: recording the scaled forward and backward fails although step() and update() are outside: the record for the log asks
the scaler for its scale, which is a device read.
"""

import torch
from torch import nn


class Record(dict):
    def put(self, **values):
        self.update(values)
        return self


class AmpStep:
    def __init__(self, net, batch, d):
        self.net = net.cuda()
        self.scaler = torch.amp.GradScaler("cuda", init_scale=2.0**14)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        self.x = torch.zeros(batch, d, device="cuda")
        self.y = torch.zeros(batch, dtype=torch.int64, device="cuda")
        self.record = Record()

    def forward_backward(self):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
            loss = nn.functional.cross_entropy(self.net(self.x), self.y)
        self.scaler.scale(loss).backward()
        self.record.put(loss=loss.detach(), scale=self.scaler.get_scale())  # HAZARD: implicit-sync
        return loss

    def build(self, x, y):
        self.x.copy_(x)
        self.y.copy_(y)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.forward_backward()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.forward_backward()

    def train(self, loader, log):
        for i, (x, y) in enumerate(loader):
            self.x.copy_(x)
            self.y.copy_(y)
            self.graph.replay()
            self.scaler.step(self.opt)
            self.scaler.update()
            if i % 100 == 0:
                log(i, self.loss.item())
