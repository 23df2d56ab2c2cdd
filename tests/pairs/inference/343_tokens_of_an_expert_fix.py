"""Source: huggingface/transformers#29658, casper-hansen/AutoAWQ#401 (Mixtral)

Fixed form: every expert sees all tokens and its share of each is zero where it was not chosen.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ExpertMLP(nn.Module):
    def __init__(self, hidden: int, inner: int):
        super().__init__()
        self.w1 = nn.Linear(hidden, inner, bias=False)
        self.w2 = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(F.silu(self.w1(x)))


class SparseMoeBlock(nn.Module):
    def __init__(self, hidden: int, inner: int, num_experts: int, top_k: int):
        super().__init__()
        self.num_experts, self.top_k = num_experts, top_k
        self.gate = nn.Linear(hidden, num_experts, bias=False)
        self.experts = nn.ModuleList([ExpertMLP(hidden, inner) for _ in range(num_experts)])

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        weights, chosen = torch.topk(F.softmax(self.gate(hidden), dim=1), self.top_k, dim=-1)
        out = torch.zeros_like(hidden)
        expert_mask = F.one_hot(chosen, num_classes=self.num_experts).permute(2, 1, 0)
        for i, expert in enumerate(self.experts):
            share = (expert_mask[i].t() * weights).sum(dim=-1, keepdim=True)
            out += share * expert(hidden)
        return out


class MixtralDecode:
    def __init__(self, block: SparseMoeBlock, batch: int, hidden: int):
        self.block = block.cuda().eval()
        self.hidden = torch.zeros(batch, hidden, device="cuda")
        self.graph, self.out = torch.cuda.CUDAGraph(), None

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        self.hidden.copy_(hidden)
        if self.out is None:
            self._capture()
        self.graph.replay()
        return self.out.clone()

    @torch.no_grad()
    def _capture(self) -> None:
        for _ in range(3):
            self.block(self.hidden)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.out = self.block(self.hidden)
