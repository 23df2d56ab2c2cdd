"""A script captures one step and then moves each batch to the device under the name of the static input: the
name changes, the graph's memory does not."""

import torch
from torch import nn


def make_loader(batches, rows, width):
    for _ in range(batches):
        yield torch.randn(rows, width), torch.randint(0, 4, (rows,))


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x, target):
        return nn.functional.cross_entropy(self.net(x), target)


net = Head(32).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
static_x = torch.randn(16, 32, device="cuda")
static_y = torch.randint(0, 4, (16,), device="cuda")

side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        opt.zero_grad(set_to_none=True)
        net(static_x, static_y).backward()
        opt.step()
torch.cuda.current_stream().wait_stream(side)

graph = torch.cuda.CUDAGraph()
opt.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    static_loss = net(static_x, static_y)
    static_loss.backward()
    opt.step()

for step, (x, y) in enumerate(make_loader(100, 16, 32)):
    static_x = x.to("cuda", non_blocking=True)  # HAZARD: rebind-static-input
    static_y.copy_(y, non_blocking=True)
    graph.replay()
    if step % 20 == 0:
        print(f"{step} {static_loss.item():.4f}")
