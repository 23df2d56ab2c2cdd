"""Source: pytorch/pytorch#185074 (compilation during capture), with a warm-up at another size.

Symptom: the first graphed step dies in the compiler although the compiled loss was called before: the warm-up gave it a
single row, and the batch of the capture makes it compile again.
"""

import torch
from torch import nn


@torch.compile(dynamic=False)
def focal(logits, target, gamma: float = 2.0):
    logp = logits.log_softmax(-1).gather(-1, target[:, None]).squeeze(-1)
    return (-((1 - logp.exp()) ** gamma) * logp).mean()


class Detector:
    def __init__(self, batch, d, classes):
        self.net = nn.Sequential(nn.Linear(d, 256), nn.GELU(), nn.Linear(256, classes)).cuda()
        self.x = torch.zeros(batch, d, device="cuda")
        self.t = torch.zeros(batch, dtype=torch.int64, device="cuda")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def step(self, x, t):
        self.opt.zero_grad(set_to_none=True)
        loss = focal(self.net(x), t)  # ALT: jit-in-capture
        loss.backward()
        self.opt.step()
        return loss

    def warm_up(self, stream):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.step(self.x[:1], self.t[:1])
        torch.cuda.current_stream().wait_stream(stream)

    def capture(self):
        stream = torch.cuda.Stream()
        self.warm_up(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):
            self.loss = self.step(self.x, self.t)  # HAZARD: jit-in-capture

    def fit(self, loader):
        self.capture()
        for x, t in loader:
            self.x.copy_(x)
            self.t.copy_(t)
            self.graph.replay()
