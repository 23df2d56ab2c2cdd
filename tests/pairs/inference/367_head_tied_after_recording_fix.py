"""Source: huggingface/transformers#33938 (comment), hiyouga/LLaMA-Factory#5120 (sync weights)

Fixed form: the head keeps its memory and is filled from the embedding.
"""

import torch
import torch.nn as nn


class TiedLM(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.body = nn.Linear(width, width)
        self.lm_head = nn.Linear(width, vocab, bias=False)

    def tie_weights(self) -> None:
        self.lm_head.weight.data.copy_(self.embed.weight)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.lm_head(torch.relu(self.body(self.embed(ids))))


class RolloutEngine:
    def __init__(self, model: TiedLM, batch: int):
        self.model = model.cuda().eval()
        self.ids = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.model(self.ids)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.logits = self.model(self.ids)

    @torch.no_grad()
    def update_weights(self, state: dict[str, torch.Tensor]) -> None:
        for name, parameter in self.model.named_parameters():
            if name in state:
                parameter.copy_(state[name])
        self.model.tie_weights()

    def decode(self, ids: torch.Tensor) -> torch.Tensor:
        self.ids.copy_(ids)
        self.graph.replay()
        return self.logits.clone()
