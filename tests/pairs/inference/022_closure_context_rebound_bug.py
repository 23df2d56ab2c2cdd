"""Symptom: set_context() rebinds the variable that the captured closure reads, so all images are made
with the first prompt.
"""

import torch
import torch.nn as nn


def denoiser(unet: nn.Module, shape: tuple, context_shape: tuple):
    latent = torch.zeros(shape, device="cuda")
    context = torch.zeros(context_shape, device="cuda")
    graph = torch.cuda.CUDAGraph()

    def body() -> torch.Tensor:
        return unet(latent, context)

    with torch.inference_mode():
        for _ in range(3):
            body()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            noise = body()

    def set_context(prompt: torch.Tensor) -> None:
        nonlocal context
        context = prompt.to("cuda", torch.float32)  # HAZARD: rebind-static-input

    def step(x: torch.Tensor) -> torch.Tensor:
        latent.copy_(x)
        graph.replay()
        return noise.clone()

    return set_context, step


def sample(unet: nn.Module, prompts: list[torch.Tensor], x: torch.Tensor, steps: int) -> list[torch.Tensor]:
    set_context, step = denoiser(unet, tuple(x.shape), tuple(prompts[0].shape))
    images = []
    for prompt in prompts:
        set_context(prompt)
        y = x
        for _ in range(steps):
            y = y - 0.1 * step(y)
        images.append(y)
    return images
