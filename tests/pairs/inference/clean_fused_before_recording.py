"""Source pattern: a pipeline that is configured first (fusion, guidance, scheduler) and recorded lazily.

Clean: setters that change what the step does drop the recording; values that change between steps lie
on the device; noise comes from a registered generator; the kept previews are copies.
"""

import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.qk = nn.Linear(width, 2 * width)
        self.fused = False

    @torch.no_grad()
    def fuse(self) -> None:
        self.qk.weight.copy_(torch.cat([self.q.weight, self.k.weight]))
        self.qk.bias.copy_(torch.cat([self.q.bias, self.k.bias]))
        self.fused = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k = self.qk(x).chunk(2, dim=-1) if self.fused else (self.q(x), self.k(x))
        return torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ x


class Pipeline:
    def __init__(self, net: Denoiser, shape: tuple[int, int, int], seed: int = 0):
        self.net = net.cuda().eval()
        self.latents = torch.zeros(shape, device="cuda")
        self.sigma = torch.zeros((), device="cuda")
        self.guidance = torch.ones((), device="cuda")
        self.generator = torch.Generator(device="cuda").manual_seed(seed)
        self._recorded = None

    def fuse(self) -> None:
        self.net.fuse()
        self._recorded = None

    def set_guidance(self, scale: float) -> None:
        self.guidance.fill_(scale)

    def load_weights(self, state: dict[str, torch.Tensor]) -> None:
        self.net.load_state_dict(state)

    def _step(self) -> torch.Tensor:
        noise = torch.empty_like(self.latents).normal_(generator=self.generator)
        eps = self.net(self.latents)
        return self.latents - self.sigma * (self.guidance * eps + 0.01 * noise)

    @torch.inference_mode()
    def _record(self):
        for _ in range(3):
            self._step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        with torch.cuda.graph(graph):
            out = self._step()
        return graph, out

    @torch.inference_mode()
    def __call__(self, sigmas: list[float], previews: int = 4) -> tuple[torch.Tensor, list[torch.Tensor]]:
        if self._recorded is None:
            self._recorded = self._record()
        graph, out = self._recorded
        self.latents.normal_()
        kept = []
        for i, sigma in enumerate(sigmas):
            self.sigma.fill_(sigma)
            graph.replay()
            self.latents.copy_(out)
            if i % previews == 0:
                kept.append(out.cpu())
        return self.latents.clone(), kept
