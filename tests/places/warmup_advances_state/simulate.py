"""Graphs that are recorded when they are first needed."""

import torch
from world import Particles


class Base:
    def __init__(self, n):
        self.world = Particles(n)
        self.x = torch.zeros(n, device="cuda")
        self.total = torch.zeros(n, device="cuda")
        self.count = torch.zeros((), device="cuda")
        self.graph = None


class Moving(Base):
    def record(self):
        for _ in range(3):
            self.world.move()  # expect: CG704
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.world.move()

    def step(self, velocity):
        self.world.velocity.copy_(velocity)
        if self.graph is None:
            self.record()
        self.graph.replay()


class Projecting(Base):
    def step(self, velocity):
        self.world.velocity.copy_(velocity)
        if self.graph is None:
            self.world.project()  # ok: CG704
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.world.project()
        self.graph.replay()


class Summing(Base):
    def update(self):
        self.total += self.x

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self.update()  # expect: CG704
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.update()
        self.graph.replay()


class Counting(Base):
    def update(self):
        self.count.add_(1)
        self.total.copy_(self.x / self.count)

    def step(self, x):
        self.x.copy_(x)
        if not self.graph:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.update()  # expect: CG704
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.update()
        self.graph.replay()


class Fading(Base):
    def update(self):
        self.total.mul_(0.9)

    def step(self):
        if self.graph is None:
            self.update()  # expect: CG704
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.update()
        self.graph.replay()


class Averaging(Base):
    def update(self):
        self.total.lerp_(self.x, 0.1)

    def record(self):
        self.update()  # expect: CG704
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.update()

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self.record()
        self.graph.replay()


class Gathering(Base):
    def update(self):
        self.total.index_add_(0, torch.arange(4, device="cuda"), self.x)

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self.update()  # expect: CG704
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.update()
        self.graph.replay()


class Accepted(Base):
    def update(self):
        self.total += self.x

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self.update()  # graphlint: ignore[CG704] -- the first sum is thrown away
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.update()
        self.graph.replay()


class Restoring(Base):
    def step(self, velocity):
        self.world.velocity.copy_(velocity)
        if self.graph is None:
            saved = self.world.position.clone()
            self.world.move()  # ok: CG704
            self.world.position.copy_(saved)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.world.move()
        self.graph.replay()


class Clearing(Base):
    def update(self):
        self.total.zero_()
        self.total.add_(self.x)

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self.update()  # ok: CG704
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.update()
        self.graph.replay()


class Starting(Base):
    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self.total += self.x  # ok: CG704
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.total += self.x
            self.total.zero_()
        self.graph.replay()


class Prepared(Base):
    def prepare(self):
        self.world.move()  # ok: CG704
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.world.move()

    def step(self, velocity):
        self.world.velocity.copy_(velocity)
        self.graph.replay()


class Temporary(Base):
    def update(self):
        moved = self.x * 1
        moved.add_(self.total)
        return moved

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            self.update()  # ok: CG704
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.update()
        self.graph.replay()
        return self.out.clone()
