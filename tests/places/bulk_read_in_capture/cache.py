"""A key-value cache that spills to the host."""

import copy

import torch


class Spill:
    def __init__(self, pages: int, width: int):
        self.pages = torch.zeros(pages, width, device="cuda")
        self.host = torch.zeros(pages, width)
        self.pinned = torch.zeros(pages, width, pin_memory=True)
        self.sizes = {"pages": pages, "width": width}
        self.moved = []

    def evict(self):
        self.host.copy_(self.pages)  # expect: CG303
        self.moved.append(self.pages[0].to("cpu"))  # expect: CG303
        return copy.deepcopy(self.sizes)  # ok: CG303

    def stage(self):
        self.pinned.copy_(self.pages, non_blocking=True)  # ok: CG303
        return self.pages.to(torch.bfloat16)  # ok: CG303

    def save(self, path: str):
        torch.save({"pages": self.pages}, path)  # expect: CG303


class Engine:
    def __init__(self, spill: Spill):
        self.spill = spill
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.out = self.step()

    def step(self):
        self.spill.evict()
        self.spill.save("pages.pt")
        return self.spill.stage() + 1

    def run(self):
        self.graph.replay()
        return self.out.cpu()  # ok: CG303


def main():
    engine = Engine(Spill(64, 128))
    for _ in range(8):
        print(engine.run().shape)
