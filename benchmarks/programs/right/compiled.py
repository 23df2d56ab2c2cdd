"""reduce-overhead in a loop that copies its outputs, and a trained module compiled the same way."""

import torch
from torch import nn

torch.manual_seed(0)


def main():
    net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
    step = torch.compile(net, mode="reduce-overhead")
    x = torch.randn(8, 32, device="cuda")
    with torch.no_grad():
        kept = []
        for _ in range(8):
            torch.compiler.cudagraph_mark_step_begin()
            x = step(x).clone()
            kept.append(x)
    print(torch.stack(kept).shape)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(6):
        opt.zero_grad()
        loss = step(torch.randn(8, 32, device="cuda")).square().mean()
        loss.backward()
        opt.step()
    print(loss.item() < 10)


if __name__ == "__main__":
    main()
