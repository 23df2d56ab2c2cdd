"""A captured step holds collectives. The communicators are destroyed at the end of the run while the graph is
still alive, and the process hangs. (Seen in pytorch/pytorch#115388.)"""

import torch
import torch.distributed as dist
from torch import nn


class ReducedStep:
    def __init__(self, net, shape):
        self.net = net
        self.x = torch.zeros(shape, device="cuda")
        self.graph = None

    def _work(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        for p in self.net.parameters():
            dist.all_reduce(p.grad)
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._work()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.loss = self._work()

    def release(self):
        torch.cuda.synchronize()
        self.graph.reset()
        self.graph = None


class Session:
    def __init__(self, rank, world):
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", rank=rank, world_size=world)

    def close(self):
        dist.destroy_process_group()


def run(rank, world, loader):
    session = Session(rank, world)
    step = ReducedStep(nn.Linear(16, 16).cuda(), (8, 16))
    step.capture()
    opt = torch.optim.SGD(step.net.parameters(), lr=0.1)
    for x in loader:
        step.x.copy_(x)
        step.graph.replay()
        opt.step()
    step.release()
    session.close()
    return step.net
