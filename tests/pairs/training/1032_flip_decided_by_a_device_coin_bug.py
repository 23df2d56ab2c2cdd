"""Source: random augmentation on the device in a captured contrastive trainer.

Symptom: the capture of the augmented step fails in the flip: the coin is thrown on the device and asked on the host.
"""

import torch
from torch import nn


class RandomFlip(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, images):
        coin = torch.rand(1, device=images.device)
        return images.flip(-1) if coin < self.p else images  # HAZARD: host-branch-on-device


class RandomErase(nn.Module):
    def forward(self, images):
        keep = (torch.rand_like(images[:, :1]) > 0.1).to(images.dtype)
        return images * keep


class Contrastive:
    def __init__(self, encoder: nn.Module, batch, size):
        self.encoder = encoder.cuda()
        self.augment = nn.Sequential(RandomFlip(), RandomErase())
        self.images = torch.zeros(batch, 3, size, size, device="cuda")
        self.opt = torch.optim.SGD(self.encoder.parameters(), lr=0.03, momentum=0.9)

    def loss(self):
        a = nn.functional.normalize(self.encoder(self.augment(self.images)), dim=-1)
        b = nn.functional.normalize(self.encoder(self.augment(self.images)), dim=-1)
        logits = a @ b.T / 0.1
        return nn.functional.cross_entropy(logits, torch.arange(len(a), device=a.device))

    def step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        self.opt.step()
        return loss.detach()

    def __enter__(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.value = self.step()
        return self

    def __exit__(self, *exc):
        self.graph.reset()


def pretrain(encoder, loader):
    with Contrastive(encoder, 64, 96) as run:
        for images in loader:
            run.images.copy_(images)
            run.graph.replay()
