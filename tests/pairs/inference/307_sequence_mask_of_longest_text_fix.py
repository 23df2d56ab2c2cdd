"""Source: jaywalnut310/vits#151, myshell-ai/MeloTTS (streaming fork)

Fixed form: the encoder passes the padded length, which is a number of the shape.
"""

import torch
import torch.nn as nn


def sequence_mask(length: torch.Tensor, max_length: int | None = None) -> torch.Tensor:
    if max_length is None:
        max_length = length.max()
    x = torch.arange(max_length, dtype=length.dtype, device=length.device)
    return x.unsqueeze(0) < length.unsqueeze(1)


class TextEncoder(nn.Module):
    def __init__(self, symbols: int, hidden: int):
        super().__init__()
        self.emb = nn.Embedding(symbols, hidden)
        self.conv = nn.Conv1d(hidden, hidden, 5, padding=2)

    def forward(self, text: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.emb(text).transpose(1, 2)
        mask = sequence_mask(lengths, text.shape[1]).unsqueeze(1).to(h.dtype)
        return self.conv(h * mask) * mask, mask


class GraphedTextEncoder:
    def __init__(self, encoder: TextEncoder, batch: int, longest: int):
        self.encoder = encoder.cuda().eval()
        self.text = torch.zeros(batch, longest, dtype=torch.long, device="cuda")
        self.lengths = torch.full((batch,), longest, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self._record()

    @torch.inference_mode()
    def _record(self) -> None:
        for _ in range(2):
            self.encoder(self.text, self.lengths)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.hidden, self.mask = self.encoder(self.text, self.lengths)

    def __call__(self, text: torch.Tensor, lengths: torch.Tensor):
        self.text.zero_()
        self.text[:, : text.shape[1]].copy_(text)
        self.lengths.copy_(lengths)
        self.graph.replay()
        return self.hidden.clone(), self.mask.clone()
