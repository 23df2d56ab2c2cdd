"""A token dispatcher copies the numbers of tokens per expert to the host on a stream of its own and waits for it;
capturing the layer fails there. (Compare NVIDIA/Megatron-LM#6152.)"""

import torch
from torch import nn


class Dispatcher:
    def __init__(self, experts):
        self.experts = experts
        self.copies = torch.cuda.Stream()
        self.host_counts = torch.zeros(experts, dtype=torch.int64).pin_memory()

    def _bring_counts(self, counts):
        self.copies.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copies):
            self.host_counts.copy_(counts, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.copies)

    def permute(self, tokens, choice):
        counts = nn.functional.one_hot(choice, self.experts).sum(0)
        self._bring_counts(counts)
        return tokens[choice.argsort(stable=True)], counts


class ExpertLayer(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.scale = nn.Parameter(torch.ones(experts))
        self.dispatcher = Dispatcher(experts)

    def forward(self, x):
        choice = self.router(x).argmax(-1)
        rows, counts = self.dispatcher.permute(x, choice)
        return rows * (self.scale * counts / x.shape[0]).sum()


class GraphedLayer:
    def __init__(self, layer, tokens, width):
        self.layer, self.x = layer, torch.zeros(tokens, width, device="cuda")

    def _run(self):
        self.layer.zero_grad(set_to_none=True)
        loss = self.layer(self.x).square().mean()
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._run()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self._run()


def main():
    graphed = GraphedLayer(ExpertLayer(32, 8).cuda(), 128, 32)
    graphed.capture()
    return graphed
