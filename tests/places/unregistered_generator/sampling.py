"""Sampling of tokens and of particles."""

import torch


class Sampler:
    def __init__(self, vocabulary: int, seed: int | None):
        self.probabilities = torch.ones(vocabulary, device="cuda") / vocabulary
        self.generator = torch.Generator("cuda").manual_seed(seed or 0)
        self.host = torch.Generator().manual_seed(seed or 0)
        self.shuffle = torch.randperm(vocabulary, generator=self.host)  # ok: CG503
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.token = torch.multinomial(self.probabilities, 1, generator=self.generator)  # expect: CG503
            self.tries = torch.multinomial(self.probabilities, 4)  # ok: CG503

    def draw(self):
        self.graph.replay()
        return self.token.clone()


class Particles:
    def __init__(self, count: int):
        self.position = torch.zeros(count, 3, device="cuda")
        self.rng = {"kick": torch.Generator(device="cuda"), "spawn": torch.Generator(device="cuda")}
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.rng["spawn"])
        with torch.cuda.graph(self.graph):
            kick = torch.zeros_like(self.position)
            kick.uniform_(-1, 1, generator=self.rng["kick"])  # expect: CG503
            self.position.add_(kick)
            self.position[0:1].normal_(generator=self.rng["spawn"])  # ok: CG503

    def advance(self):
        self.graph.replay()
        return self.position.clone()


def walk(x: torch.Tensor, generator: torch.Generator | None = None):
    x = x.cuda()
    used = generator if generator is not None else torch.Generator(device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.exponential_(generator=used)  # expect: CG503
        x.geometric_(0.5, generator=None)  # ok: CG503
        x.log_normal_(generator=used)  # graphlint: ignore[CG503] -- fails, and is meant to
    return graph, x


def masked(x: torch.Tensor, seed: int):
    x = x.cuda()
    generator = torch.Generator(x.device)
    generator.manual_seed(seed)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mask = torch.randint(0, 2, (4,), device="cuda", generator=generator)  # expect: CG503
        x.mul_(mask)
    return graph, x
