"""An engine with two graphs in one pool, and one with a pool for each."""

import torch


class Shared:
    def __init__(self, net: torch.nn.Linear):
        self.x = torch.zeros(8, 16, device="cuda")
        self.left, self.right = torch.cuda.Stream(), torch.cuda.Stream()
        self.prefill, self.decode = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        net(self.x)
        pool = torch.cuda.graph_pool_handle()
        with torch.cuda.graph(self.prefill, pool=pool):
            self.first = net(self.x)
        with torch.cuda.graph(self.decode, pool=pool):
            self.second = net(self.x) * 2

    def run_prefill(self):
        with torch.cuda.stream(self.left):
            self.prefill.replay()

    def run_decode(self):
        with torch.cuda.stream(self.right):
            self.decode.replay()  # expect: CG608


class Apart:
    def __init__(self, net: torch.nn.Linear):
        self.x = torch.zeros(8, 16, device="cuda")
        self.left, self.right = torch.cuda.Stream(), torch.cuda.Stream()
        self.prefill, self.decode = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        net(self.x)
        with torch.cuda.graph(self.prefill):
            self.first = net(self.x)
        with torch.cuda.graph(self.decode):
            self.second = net(self.x) * 2

    def run(self):
        torch.cuda.synchronize()
        with torch.cuda.stream(self.left):
            self.prefill.replay()  # ok: CG608
        with torch.cuda.stream(self.right):
            self.decode.replay()  # ok: CG608
        torch.cuda.synchronize()
