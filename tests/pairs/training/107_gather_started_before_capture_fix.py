"""The gather of the first parameter bucket is started after the optimizer step, outside of the graph; the
captured forward waits for it. (Seen in NVIDIA/Megatron-LM#7282.)"""

import torch
from torch import nn


class Bucket:
    def __init__(self, shard):
        self.shard = shard
        self.full = torch.zeros(shard.numel() * 2, device="cuda")
        self.ready = None

    def start_gather(self, stream):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.full[: self.shard.numel()].copy_(self.shard)
            self.ready = torch.cuda.Event()
            self.ready.record()

    def wait(self):
        if self.ready is not None:
            torch.cuda.current_stream().wait_event(self.ready)
            self.ready = None


class Sharded(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shard = nn.Parameter(torch.zeros(width * width // 2, device="cuda"))
        self.width = width
        self.bucket = Bucket(self.shard.detach())
        self.stream = torch.cuda.Stream()

    def start_sync(self):
        self.bucket.start_gather(self.stream)

    def forward(self, x):
        self.bucket.wait()
        return x @ self.bucket.full.view(self.width, self.width)


class Iteration:
    def __init__(self, net, shape):
        self.net = net
        self.x = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def warm(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.net.start_sync()
                self.net(self.x)
        torch.cuda.current_stream().wait_stream(side)

    def capture(self):
        self.warm()
        self.net.start_sync()
        self.net.bucket.wait()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


def main(loader):
    run = Iteration(Sharded(16), (4, 16))
    with torch.no_grad():
        run.capture()
        return [run.step(x) for x in loader]
