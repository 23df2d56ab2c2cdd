"""Each expert layer notes the tensor with its token counts in a recorder while the step is captured; the
report empties the recorder, and no replay fills it again. (Seen in a review of NVIDIA/Megatron-LM#4110.)"""

import torch
from torch import nn


class LoadRecorder:
    _instance = None

    def __init__(self):
        self.counts = []

    @classmethod
    def get(cls):
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def note(self, counts):
        self.counts.append(counts)  # HAZARD: side-effect

    def report(self):
        if not self.counts:
            return 0.0
        stacked = torch.stack(self.counts).float()
        self.counts.clear()  # ALT: side-effect
        return (stacked.amax(-1) / stacked.mean(-1)).amax().item()


class Experts(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.up = nn.Parameter(torch.randn(experts, width, width) * 0.02)

    def forward(self, x):
        scores = self.gate(x).softmax(-1)
        chosen = torch.zeros_like(scores).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
        LoadRecorder.get().note(chosen.detach().sum(0))
        return torch.einsum("te,td,edf->tf", chosen * scores, x, self.up)


class MoeStep:
    def __init__(self, net, tokens, width):
        self.net = net
        self.x = torch.zeros(tokens, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def body(self):
        self.net.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.body()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.body()


def train(loader, log):
    step = MoeStep(nn.Sequential(Experts(32, 4), Experts(32, 4)).cuda(), 64, 32)
    step.capture()
    opt = torch.optim.SGD(step.net.parameters(), lr=0.1)
    for index, x in enumerate(loader):
        step.x.copy_(x)
        step.graph.replay()
        opt.step()
        if index % 50 == 0:
            log(index, LoadRecorder.get().report())
