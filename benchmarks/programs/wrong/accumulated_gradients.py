"""Graphed callables with gradients of two batches: the second backward pass overwrites those of the first."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def main():
    body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
    head = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)).cuda()
    x, h = torch.randn(16, 32, device="cuda"), torch.randn(16, 32, device="cuda", requires_grad=True)
    body, head = torch.cuda.make_graphed_callables((body, head), ((x,), (h,)))
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
    first = last = None
    for step in range(6):
        opt.zero_grad(set_to_none=True)
        for _ in range(2):
            data = torch.randn(16, 32, device="cuda")
            target = data.sum(1, keepdim=True).tanh()
            loss = F.mse_loss(head(body(data)), target) / 2
            loss.backward()
        nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        opt.step()
        if step == 0:
            first = loss.item()
        last = loss.item()
    print(last < first)


if __name__ == "__main__":
    main()
