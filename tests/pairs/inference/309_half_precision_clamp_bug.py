"""Source: huggingface/transformers#23231, huggingface/transformers#30762 (T5 family)

Symptom: the half precision guard of the feed-forward block asks the device whether there is an
infinity before it clamps, so graphing the encoder fails although it runs in eager mode.
"""

import torch
import torch.nn as nn


class EncoderConfig:
    def __init__(self, hidden: int = 512, layers: int = 6, dtype: torch.dtype = torch.float16):
        self.hidden, self.layers, self.dtype = hidden, layers, dtype


class FeedForward(nn.Module):
    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.wi = nn.Linear(config.hidden, 4 * config.hidden, bias=False)
        self.wo = nn.Linear(4 * config.hidden, config.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.wo(torch.relu(self.wi(x)))


class EncoderLayer(nn.Module):
    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden)
        self.ff = FeedForward(config)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = self.ff(self.norm(hidden))
        if hidden.dtype == torch.float16 and torch.isinf(hidden).any():  # HAZARD: host-branch-on-device
            limit = torch.finfo(hidden.dtype).max - 1000
            hidden = torch.clamp(hidden, min=-limit, max=limit)
        return hidden


class PromptEncoder:
    def __init__(self, config: EncoderConfig, tokens: int):
        layers = [EncoderLayer(config) for _ in range(config.layers)]
        self.net = nn.Sequential(*layers).to("cuda", config.dtype).eval()
        self.embeds = torch.zeros(1, tokens, config.hidden, device="cuda", dtype=config.dtype)
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(3):
            self.net(self.embeds)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.encoded = self.net(self.embeds)

    def encode(self, embeds: torch.Tensor) -> torch.Tensor:
        self.embeds.copy_(embeds)
        self.graph.replay()
        return self.encoded.clone()
