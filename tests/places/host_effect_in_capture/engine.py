"""Captures steps; cleans up before and pauses between replays."""

import gc
import time

import torch
from step import Cooldown, Throttle, tidy, wait_for_peer


class Engine:
    def __init__(self, net: torch.nn.Module):
        self.net = net
        self.x = torch.zeros(8, 8, device="cuda")
        self.cooldown = Cooldown()
        self.graph = torch.cuda.CUDAGraph()
        self.forward()
        gc.collect()  # ok: CG405
        with torch.cuda.graph(self.graph):
            self.y = self.forward()

    def forward(self):
        with Throttle(0.01):
            out = self.net(self.x)
        tidy()
        wait_for_peer(0.5)
        self.cooldown.pause()
        gc.disable()  # ok: CG405
        return out

    def serve(self, requests):
        for request in requests:
            self.x.copy_(request)
            self.graph.replay()
            time.sleep(0.001)  # ok: CG405
            yield self.y.clone()
