"""A denoiser with a graph for each size, guidance, timesteps written by the host, an LRU of graphs."""

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Denoiser(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.a, self.b, self.c = (
            nn.Conv2d(3, c, 3, padding=1),
            nn.Conv2d(c, c, 3, padding=1),
            nn.Conv2d(c, 3, 3, padding=1),
        )
        self.time = nn.Linear(8, c)
        self.text = nn.Linear(12, c)
        self.norm = nn.GroupNorm(4, c)

    def forward(self, x, t, text):
        f = torch.exp(torch.arange(4, device=x.device) * -1.0)
        emb = self.time(torch.cat(((t[:, None] * f).sin(), (t[:, None] * f).cos()), 1)) + self.text(text)
        h = F.silu(self.norm(self.a(x)) + emb[:, :, None, None])
        return self.c(F.silu(self.b(h)) + h)


class Graphs:
    def __init__(self, model, most=3):
        self.model, self.most, self.kept = model, most, OrderedDict()
        self.pool = torch.cuda.graph_pool_handle()

    def record(self, shape):
        x, t = torch.zeros(2 * shape[0], *shape[1:], device="cuda"), torch.zeros(2 * shape[0], device="cuda")
        text = torch.zeros(2 * shape[0], 12, device="cuda")
        torch.cuda.synchronize()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.model(x, t, text)
        torch.cuda.current_stream().wait_stream(side)
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g, pool=self.pool):
            out = self.model(x, t, text)
        return g, x, t, text, out

    def __call__(self, x, t, text):
        key = tuple(x.shape)
        if key not in self.kept:
            if len(self.kept) >= self.most:
                self.kept.popitem(last=False)
            self.kept[key] = self.record(key)
        self.kept.move_to_end(key)
        g, sx, st, stext, out = self.kept[key]
        n = x.shape[0]
        sx[:n].copy_(x)
        sx[n:].copy_(x)
        st.fill_(t)
        stext[:n].zero_()
        stext[n:].copy_(text)
        g.replay()
        empty, full = out.chunk(2)
        return torch.lerp(empty, full, 3.0)


@torch.inference_mode()
def main():
    graphs = Graphs(Denoiser().cuda().eval())
    for n, size in ((2, 24), (2, 16), (1, 16), (2, 24)):
        x, text = torch.randn(n, 3, size, size, device="cuda"), torch.randn(n, 12, device="cuda")
        for t in torch.linspace(1, 0, 6)[:-1].tolist():
            x = x - 0.1 * graphs(x, t, text)
        print(n, size, tuple(x.shape), bool(x.isfinite().all()))


if __name__ == "__main__":
    main()
