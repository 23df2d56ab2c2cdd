"""Validation graphs for several crops share one pool. The crops come from a generator that counts upwards."""

import torch
from torch import nn


def crops(low, high, step):
    size = low
    while size <= high:
        yield size
        size += step


class CropGraph:
    def __init__(self, graph, image, out):
        self.graph, self.image, self.out = graph, image, out

    def __call__(self, image):
        self.image.copy_(image)
        self.graph.replay()
        return self.out.clone()


class Validator:
    def __init__(self, net, low=128, high=512, step=128):
        self.net = net.eval()
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        self.sizes = list(crops(low, high, step))
        self.graphs = {}

    @torch.inference_mode()
    def _make(self, size):
        image = torch.zeros(1, 3, size, size, device="cuda")
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                self.net(image)
        torch.cuda.current_stream().wait_stream(self.stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            out = self.net(image)
        return CropGraph(graph, image, out)

    def warm(self):
        for size in reversed(self.sizes):
            self.graphs[size] = self._make(size)

    def __call__(self, image):
        return self.graphs[image.shape[-1]](image)


def main(images):
    validator = Validator(nn.Conv2d(3, 8, 3, padding=1).cuda())
    validator.warm()
    return [validator(image).mean().item() for image in images]
