"""Some rows of a field are held fixed by assigning through a Python list of indices in the captured
step."""

import torch


class HeatField:
    def __init__(self, n, fixed, value, rate=0.1):
        self.field = torch.zeros(n, device="cuda")
        self.kernel = torch.tensor([0.25, 0.5, 0.25], device="cuda").view(1, 1, 3)
        self.fixed = list(fixed)
        self.value, self.rate = value, rate

    def diffuse(self):
        smooth = torch.nn.functional.conv1d(self.field.view(1, 1, -1), self.kernel, padding=1)
        self.field.lerp_(smooth.view(-1), self.rate)

    def boundary(self):
        self.field[self.fixed] = self.value  # HAZARD: pageable-copy

    def step(self):
        self.diffuse()
        self.boundary()


class Simulator:
    def __init__(self, field, substeps):
        self.field, self.substeps, self.graph = field, substeps, None

    def _advance(self):
        for _ in range(self.substeps):
            self.field.step()

    def start(self):
        saved = self.field.field.clone()
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            self._advance()
        torch.cuda.current_stream().wait_stream(s)
        self.field.field.copy_(saved)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._advance()

    def frame(self):
        self.graph.replay()
        return self.field.field.clone()


def main(frames):
    sim = Simulator(HeatField(512, (0, 511), 1.0), 8)
    sim.start()
    return [sim.frame() for _ in range(frames)]
