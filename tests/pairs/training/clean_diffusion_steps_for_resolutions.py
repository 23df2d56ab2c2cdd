"""Clean: a diffusion trainer with one captured step for each resolution (largest first, one pool and stream); loss
weights live on the device, the averaged model is updated in place outside of the graph."""

import copy

import torch
from torch import nn


class Schedule(nn.Module):
    def __init__(self, steps=1000):
        super().__init__()
        abar = torch.cumprod(1.0 - torch.linspace(1e-4, 0.02, steps), 0)
        self.register_buffer("abar", abar)
        self.register_buffer("weight", (abar / (1.0 - abar)).clamp(max=5.0))

    def forward(self, x, noise, t):
        a = self.abar[t].view(-1, 1, 1, 1)
        return a.sqrt() * x + (1 - a).sqrt() * noise


class Trainer:
    def __init__(self, unet: nn.Module, sizes=(32, 64), batch=4):
        self.unet = unet.cuda()
        self.average = copy.deepcopy(self.unet).eval().requires_grad_(False)
        self.schedule = Schedule().cuda()
        self.opt = torch.optim.AdamW(
            self.unet.parameters(), lr=torch.tensor(1e-4, device="cuda"), capturable=True
        )
        self.pool, self.side = torch.cuda.graph_pool_handle(), torch.cuda.Stream()
        self.steps = {}
        self.batch, self.sizes = batch, sizes

    def _step(self, x):
        noise = torch.randn_like(x)
        t = torch.randint(0, len(self.schedule.abar), (x.shape[0],), device=x.device)
        error = (self.unet(self.schedule(x, noise, t)) - noise).square().mean((1, 2, 3))
        loss = (error * self.schedule.weight[t]).mean()
        loss.backward()
        self.opt.step()
        self.opt.zero_grad(set_to_none=False)
        return loss

    def prepare(self, images):
        for size in sorted(self.sizes, reverse=True):
            x = nn.functional.interpolate(images, size=(size, size)).clone()
            self.side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.side):
                for _ in range(3):
                    self._step(x)
            torch.cuda.current_stream().wait_stream(self.side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool, stream=self.side):
                loss = self._step(x)
            self.steps[size] = (graph, x, loss)

    @torch.no_grad()
    def update_average(self, decay):
        for a, p in zip(self.average.parameters(), self.unet.parameters()):
            a.lerp_(p, 1.0 - decay)

    def train_batch(self, images, index):
        graph, x, loss = self.steps[images.shape[-1]]
        x.copy_(images)
        graph.replay()
        self.update_average(min(0.9999, (1 + index) / (10 + index)))
        return loss.clone()
