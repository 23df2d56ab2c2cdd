"""DDP in one process, a captured iteration after eleven warm-up steps on a side stream."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")
torch.manual_seed(0)


def main():
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("PORT_OF_TEST", "29511"))
    dist.init_process_group("nccl", rank=0, world_size=1)
    torch.cuda.set_device(0)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        net = DistributedDataParallel(
            nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)).cuda(), device_ids=[0]
        )
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)
    x, y = torch.zeros(8, 16, device="cuda"), torch.zeros(8, 1, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(11):
            opt.zero_grad(set_to_none=True)
            (net(x) - y).square().mean().backward()
            opt.step()
    torch.cuda.current_stream().wait_stream(side)
    g = torch.cuda.CUDAGraph()
    opt.zero_grad(set_to_none=True)
    with torch.cuda.graph(g):
        loss = (net(x) - y).square().mean()
        loss.backward()
        opt.step()
    history = []
    for _ in range(20):
        x.normal_()
        y.copy_(x.sum(1, keepdim=True))
        g.replay()
        history.append(loss.item())
    print(len(history), history[-1] > 0)
    del g
    torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
