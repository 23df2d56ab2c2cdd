"""Gradients are reduced beside the backward pass."""

import torch


class Buckets:
    def __init__(self, count: int, size: int):
        self.buckets = [torch.zeros(size, device="cuda") for _ in range(count)]
        self.stream = torch.cuda.Stream()
        self.late = torch.cuda.Stream()

    def reduce(self, bucket: torch.Tensor):
        with torch.cuda.stream(self.stream):  # expect: CG501
            bucket.mul_(0.5)

    def finish(self):
        torch.cuda.current_stream().wait_stream(self.stream)

    def describe(self):
        with torch.cuda.stream(self.late):  # ok: CG501
            return len(self.buckets)


def record(buckets: Buckets, x: torch.Tensor):
    x = x.cuda()
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.graph(graph):
        for bucket in buckets.buckets:
            bucket.add_(x)
            buckets.reduce(bucket)
        buckets.finish()
        buckets.describe()
        torch.cuda.set_stream(side)
        loss = x * 2  # expect: CG501
    return graph, loss, x
