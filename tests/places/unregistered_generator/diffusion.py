"""A denoising step in a graph."""

import torch
from noise import Dither, Dropper, gaussian


class Denoiser:
    def __init__(self, seed: int):
        self.generator = torch.Generator(device="cuda")
        self.generator.manual_seed(seed)
        self.dropper = Dropper(0.1, seed)
        self.dither = Dither()
        self.latent = torch.zeros(4, 64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.step()
        with torch.cuda.graph(self.graph):
            self.out = self.step()

    def step(self):
        return self.dither(self.dropper(gaussian(self.latent, self.generator)))

    def run(self):
        self.latent.normal_(generator=self.generator)  # ok: CG503
        self.graph.replay()
        return self.out.clone()


class Registered:
    def __init__(self, seed: int):
        self.generator = torch.Generator(device="cuda").manual_seed(seed)
        self.latent = torch.zeros(4, 64, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.generator)
        with torch.cuda.graph(self.graph):
            self.latent.normal_(generator=self.generator)  # ok: CG503
            self.picked = torch.multinomial(self.latent.abs(), 1, generator=self.generator)  # ok: CG503

    def run(self):
        self.graph.replay()
        return self.picked.clone()
