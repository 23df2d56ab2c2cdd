"""Mixed precision: both passes are captured without autocast's cache; the scaler and the step are eager."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def main():
    net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 4)).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    x, y = torch.randn(16, 32, device="cuda"), torch.randint(4, (16,), device="cuda")

    def passes():
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            opt.zero_grad(set_to_none=True)
            passes()
            scaler.step(opt)
            scaler.update()
    torch.cuda.current_stream().wait_stream(side)
    opt.zero_grad(set_to_none=True)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        loss = passes()
    seen = []
    for _ in range(6):
        x.copy_(torch.randn_like(x))
        y.copy_(torch.randint(4, (16,), device="cuda"))
        g.replay()
        scaler.step(opt)
        scaler.update()
        seen.append(loss.item())
    print(len(seen))


if __name__ == "__main__":
    main()
