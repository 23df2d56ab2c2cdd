"""Clean: generator and discriminator steps are two graphs with their own static inputs; optimizers step
eagerly and losses are read every hundred steps."""

import torch
from torch import nn


class AdversarialGraphs:
    def __init__(self, gen, disc, batch, latent, dim):
        self.gen, self.disc = gen, disc
        self.z = torch.zeros(batch, latent, device="cuda")
        self.real = torch.zeros(batch, dim, device="cuda")
        self.g_opt = torch.optim.Adam(gen.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.d_opt = torch.optim.Adam(disc.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.bce = nn.functional.binary_cross_entropy_with_logits

    def d_loss(self):
        self.disc.zero_grad(set_to_none=True)
        with torch.no_grad():
            fake = self.gen(self.z)
        real_logit, fake_logit = self.disc(self.real), self.disc(fake)
        loss = self.bce(real_logit, torch.ones_like(real_logit)) + self.bce(
            fake_logit, torch.zeros_like(fake_logit)
        )
        loss.backward()
        return loss

    def g_loss(self):
        self.gen.zero_grad(set_to_none=True)
        logit = self.disc(self.gen(self.z))
        loss = self.bce(logit, torch.ones_like(logit))
        grads = torch.autograd.grad(loss, list(self.gen.parameters()))
        for p, g in zip(self.gen.parameters(), grads, strict=False):
            p.grad = g
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.d_loss(), self.g_loss()
        torch.cuda.current_stream().wait_stream(side)
        self.d_graph, self.g_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.d_graph):
            self.d_value = self.d_loss()
        with torch.cuda.graph(self.g_graph):
            self.g_value = self.g_loss()

    def step(self, real):
        self.real.copy_(real, non_blocking=True)
        self.z.normal_()
        self.d_graph.replay()
        self.d_opt.step()
        self.z.normal_()
        self.g_graph.replay()
        self.g_opt.step()


def train(loader):
    gen, disc = nn.Linear(16, 32).cuda(), nn.Linear(32, 1).cuda()
    graphs = AdversarialGraphs(gen, disc, 64, 16, 32)
    graphs.capture()
    log = []
    for i, real in enumerate(loader):
        graphs.step(real)
        if i % 100 == 0:
            log.append((graphs.d_value.item(), graphs.g_value.item()))
    return log
