"""Clean: layers graphed by make_graphed_callables under autocast without its cache; scaling, clipping and
stepping are eager, and one forward is followed by one backward."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


def graph_layers(layers, batch, width):
    samples = tuple((torch.randn(batch, width, device="cuda", requires_grad=True),) for _ in layers)
    with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
        return torch.cuda.make_graphed_callables(tuple(layers), samples)


def train(loader, width=64, batch=16, depth=3):
    layers = [Layer(width).cuda() for _ in range(depth)]
    params = [p for layer in layers for p in layer.parameters()]
    stem = nn.Linear(width, width).cuda()
    opt = torch.optim.AdamW([*params, *stem.parameters()], lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    graphed = graph_layers(layers, batch, width)
    for step, (x, y) in enumerate(loader):
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
            h = stem(x.cuda(non_blocking=True))
            for layer in graphed:
                h = layer(h)
            loss = nn.functional.mse_loss(h.float(), y.cuda(non_blocking=True))
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norm = nn.utils.clip_grad_norm_(params, 1.0)
        scaler.step(opt)
        scaler.update()
        if step % 100 == 0:
            print(f"{step}: loss {loss.item():.3f} norm {norm.item():.3f} scale {scaler.get_scale()}")
