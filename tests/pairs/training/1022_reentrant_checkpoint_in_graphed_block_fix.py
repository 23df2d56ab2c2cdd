"""Source: pytorch/pytorch#82465.

Fixed: the block uses non-reentrant checkpointing without saved random state.
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, d, recompute=True):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.recompute = recompute

    def forward(self, x):
        if self.recompute:
            return x + checkpoint(self.mlp, self.norm(x), use_reentrant=False, preserve_rng_state=False)
        return x + self.mlp(self.norm(x))


class Stack(nn.Module):
    def __init__(self, depth, d):
        super().__init__()
        self.blocks = nn.ModuleList([Block(d) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def graph_blocks(model: Stack, batch, d):
    sample = torch.randn(batch, d, device="cuda", requires_grad=True)
    samples = tuple((torch.randn_like(sample, requires_grad=True),) for _ in model.blocks)
    graphed = torch.cuda.make_graphed_callables(tuple(model.blocks), samples)
    model.blocks = nn.ModuleList(graphed)
    return model


def train(loader, depth=4, d=256):
    model = graph_blocks(Stack(depth, d).cuda(), 32, d)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        opt.zero_grad(set_to_none=True)
        x = x.cuda().requires_grad_(True)
        nn.functional.mse_loss(model(x), y.cuda()).backward()
        opt.step()
