"""Clean: assertions on device values, prints and profiling exist, behind flags that are off and behind the
test for a capture in progress."""

import contextlib

import torch
from torch import nn

DEBUG = False


def check_finite(name, value):
    if torch.cuda.is_current_stream_capturing():
        return value
    if not torch.isfinite(value).all():
        raise FloatingPointError(name)
    return value


@contextlib.contextmanager
def profiled(enabled):
    if not enabled:
        yield
        return
    torch.cuda.synchronize()
    yield
    torch.cuda.synchronize()


class Layer(nn.Module):
    def __init__(self, width, verbose=False):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.verbose = verbose

    def forward(self, x):
        y = self.fc(x)
        if self.verbose or DEBUG:
            print("mean", y.mean().item(), "shape", tuple(y.shape))
        return check_finite("layer", y)


class Step:
    def __init__(self, width, rows, profile=False):
        self.net = nn.Sequential(*[Layer(width) for _ in range(3)]).cuda()
        self.x = torch.zeros(rows, width, device="cuda")
        self.profile = profile
        self.graph = None

    def body(self):
        with profiled(self.profile):
            self.net.zero_grad(set_to_none=True)
            loss = self.net(self.x).square().mean()
            loss.backward()
        return loss

    def __call__(self, x):
        self.x.copy_(x)
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.body()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self.body()
        self.graph.replay()
        return check_finite("loss", self.loss)


def main(loader):
    step = Step(32, 8)
    opt = torch.optim.SGD(step.net.parameters(), lr=0.1)
    for x in loader:
        step(x)
        opt.step()
