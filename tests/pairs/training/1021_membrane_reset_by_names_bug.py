"""Source: fangwei123456/spikingjelly#740 (graphs of multi-step spiking networks).

Symptom: spikes of one sample leak into the next: resetting the network gives every neuron a new membrane tensor, and the
graph keeps integrating in the old one.
"""

import torch
from torch import nn


class MemoryModule(nn.Module):
    def __init__(self):
        super().__init__()
        self._resets = {}

    def register_memory(self, name, value):
        self.register_buffer(name, value)
        self._resets[name] = value.clone()

    def reset(self):
        for name, value in self._resets.items():
            setattr(self, name, value.to(getattr(self, name), copy=True))  # HAZARD: rebind-static-input


class LIF(MemoryModule):
    def __init__(self, n, tau=2.0, threshold=1.0):
        super().__init__()
        self.tau, self.threshold = tau, threshold
        self.register_memory("v", torch.zeros(n))

    def forward(self, x):
        charged = self.v + (x - self.v) / self.tau
        spike = (charged >= self.threshold).to(x.dtype)
        self.v.copy_(charged * (1.0 - spike))
        return spike


def reset_net(net):
    for m in net.modules():
        if hasattr(m, "reset"):
            m.reset()


class SpikingRunner:
    def __init__(self, d, steps=4):
        self.net = nn.Sequential(nn.Linear(d, 128), LIF(128), nn.Linear(128, 10), LIF(10)).cuda().eval()
        self.x = torch.zeros(d, device="cuda")
        self.steps = steps

    @torch.no_grad()
    def _forward(self):
        return sum(self.net(self.x) for _ in range(self.steps)) / self.steps

    def capture(self):
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            self._forward()
        torch.cuda.current_stream().wait_stream(s)
        reset_net(self.net)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.rate = self._forward()

    def classify(self, samples):
        labels = []
        for sample in samples:
            reset_net(self.net)
            self.x.copy_(sample)
            self.graph.replay()
            labels.append(self.rate.argmax().item())
        return labels
