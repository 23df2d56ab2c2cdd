"""Source: huggingface/diffusers (DDPMScheduler.add_noise) in a trainer that captures its step.

Symptom: recording the diffusion training step fails with "Cannot copy between CPU and CUDA tensors": the schedule keeps its
table on the host and moves it in every call.
"""

import torch
from torch import nn


class NoiseSchedule:
    def __init__(self, steps=1000, beta_start=1e-4, beta_end=0.02):
        betas = torch.linspace(beta_start, beta_end, steps)
        self.steps = steps
        self.alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)

    def add_noise(self, samples, noise, timesteps):
        table = self.alphas_cumprod.to(device=samples.device, dtype=samples.dtype)  # HAZARD: pageable-copy
        a = table[timesteps].view(-1, 1, 1, 1)
        return a.sqrt() * samples + (1.0 - a).sqrt() * noise


class DiffusionTrainer:
    def __init__(self, unet: nn.Module, size, schedule=None):
        self.unet = unet.cuda()
        self.schedule = schedule or NoiseSchedule()
        self.latents = torch.zeros(4, 4, size, size, device="cuda")
        self.opt = torch.optim.AdamW(self.unet.parameters(), lr=1e-4, capturable=True)
        self.graph = None

    def training_step(self):
        self.opt.zero_grad(set_to_none=True)
        noise = torch.randn_like(self.latents)
        t = torch.randint(0, self.schedule.steps, (4,), device="cuda")
        pred = self.unet(self.schedule.add_noise(self.latents, noise, t))
        loss = nn.functional.mse_loss(pred, noise)
        loss.backward()
        self.opt.step()
        return loss

    def on_train_start(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.training_step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.training_step()

    def train_batch(self, latents):
        self.latents.copy_(latents)
        self.graph.replay()
