"""Attention keeps the largest logit of a step for clipping. The optimizer clears it by assigning None, and
replays go on writing the tensor of the capture, which nobody reads. (Seen in NVIDIA/Megatron-LM#7518.)"""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qk = nn.Linear(width, 2 * width)
        self.register_buffer("largest", torch.zeros(()), persistent=False)

    def forward(self, x):
        q, k = self.qk(x).chunk(2, dim=-1)
        logits = q @ k.transpose(-1, -2)
        top = logits.detach().amax()
        self.largest.copy_(torch.maximum(self.largest, top))
        return logits.softmax(-1) @ x


class LogitClip:
    def __init__(self, layers, limit):
        self.layers, self.limit = layers, limit

    @torch.no_grad()
    def apply(self):
        for layer in self.layers:
            scale = (self.limit / layer.largest).clamp(max=1.0).sqrt()
            layer.qk.weight.mul_(scale)
            layer.largest.zero_()


class Step:
    def __init__(self, layer, shape):
        self.layer, self.x = layer, torch.zeros(shape, device="cuda")
        self.opt = torch.optim.SGD(layer.parameters(), lr=0.1)
        self.clip = LogitClip([layer], 30.0)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._grads()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._grads()

    def _grads(self):
        self.layer.zero_grad(set_to_none=True)
        loss = self.layer(self.x).square().mean()
        loss.backward()
        return loss

    def __call__(self, micro_batches):
        for x in micro_batches:
            self.x.copy_(x)
            self.graph.replay()
        self.opt.step()
        self.clip.apply()


def main(loader):
    step = Step(Attention(32).cuda(), (4, 16, 32))
    for micro_batches in loader:
        step(micro_batches)
