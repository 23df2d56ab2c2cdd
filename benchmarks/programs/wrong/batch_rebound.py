"""A captured training iteration whose batch is bound to a new tensor instead of copied."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.norm, self.drop = nn.LayerNorm(d), nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.b(F.gelu(self.a(self.norm(x)))))


class Prefetcher:
    def __init__(self, batches):
        self.batches, self.stream = iter(batches), torch.cuda.Stream()
        self.fetch()

    def fetch(self):
        try:
            x, y = next(self.batches)
        except StopIteration:
            self.next = None
            return
        with torch.cuda.stream(self.stream):
            self.next = (
                x.pin_memory().to("cuda", non_blocking=True),
                y.pin_memory().to("cuda", non_blocking=True),
            )

    def __iter__(self):
        while self.next is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            x, y = self.next
            x.record_stream(torch.cuda.current_stream())
            y.record_stream(torch.cuda.current_stream())
            self.fetch()
            yield x, y


class Trainer:
    def __init__(self, d=64, classes=10, batch=32):
        self.model = nn.Sequential(nn.Linear(20, d), Block(d), Block(d), nn.Linear(d, classes)).cuda()
        self.opt = torch.optim.AdamW(
            self.model.parameters(), lr=torch.tensor(1e-3, device="cuda"), capturable=True
        )
        self.x = torch.zeros(batch, 20, device="cuda")
        self.y = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = None
        self.losses = []

    def iteration(self):
        loss = F.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        return loss.detach()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.opt.zero_grad(set_to_none=True)
                self.iteration()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        self.opt.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = self.iteration()

    def step(self, x, y, lr):
        self.x = x if self.graph is not None else self.x.copy_(x)
        self.y.copy_(y)
        self.opt.param_groups[0]["lr"].fill_(lr)
        if self.graph is None:
            self.capture()
        self.graph.replay()
        self.losses.append(self.loss.clone())

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        right = (self.model(x).argmax(-1) == y).float().mean().item()
        self.model.train()
        return right


def main():
    w = torch.randn(20, 10)
    data = [(x, (x @ w).argmax(-1)) for x in (torch.randn(32, 20) for _ in range(8))]
    trainer = Trainer()
    for epoch in range(2):
        for i, (x, y) in enumerate(Prefetcher(data)):
            trainer.step(x, y, 3e-3 * (1 - (epoch * 8 + i) / 16))
        print(
            epoch,
            torch.stack(trainer.losses[-8:]).mean().item() < 2.5,
            trainer.evaluate(data[0][0].cuda(), data[0][1].cuda()) > 0.1,
        )
    state = {k: v.clone() for k, v in trainer.model.state_dict().items()}
    trainer.model.load_state_dict(state)
    trainer.step(*[t.cuda() for t in data[0]], 1e-4)


if __name__ == "__main__":
    main()
