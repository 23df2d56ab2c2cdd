"""Clean: Torch and Warp share the capturing stream, arrays are views of tensors that the object keeps, and the
number of contacts is read after the replay for the log only."""

import torch
import warp as wp


@wp.kernel
def bounce(height: wp.array(dtype=float), speed: wp.array(dtype=float), hits: wp.array(dtype=int), dt: float):
    i = wp.tid()
    speed[i] = speed[i] - 9.81 * dt
    height[i] = height[i] + speed[i] * dt
    if height[i] < 0.0:
        height[i] = 0.0
        speed[i] = -0.5 * speed[i]
        wp.atomic_add(hits, 0, 1)


class Balls:
    def __init__(self, n, dt=0.002, substeps=8):
        self.n, self.dt, self.substeps = n, dt, substeps
        self.height = torch.ones(n, device="cuda")
        self.speed = torch.zeros(n, device="cuda")
        self.hits = torch.zeros(1, dtype=torch.int32, device="cuda")
        self.arrays = [wp.from_torch(t) for t in (self.height, self.speed, self.hits)]

    def _substep(self):
        with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream())):
            wp.launch(bounce, dim=self.n, inputs=[*self.arrays, self.dt])

    def frame(self):
        self.hits.zero_()
        for _ in range(self.substeps):
            self._substep()

    def capture(self):
        saved = self.height.clone(), self.speed.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.frame()
        torch.cuda.current_stream().wait_stream(side)
        self.height.copy_(saved[0])
        self.speed.copy_(saved[1])
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.frame()

    def render(self, frames):
        path = []
        for index in range(frames):
            self.graph.replay()
            path.append(self.height.clone())
            if index % 10 == 0:
                print(index, int(self.hits))
        return torch.stack(path)


def main():
    wp.init()
    balls = Balls(512)
    balls.capture()
    return balls.render(100).cpu().numpy()
