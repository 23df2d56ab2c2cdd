from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from ..settings import EncoderSettings


class StreamingConv(nn.Module):
    """A causal convolution that carries the end of the last chunk of each stream."""

    def __init__(self, settings: EncoderSettings, streams: int) -> None:
        super().__init__()
        self.kernel = settings.conv_kernel
        self.conv = nn.Conv1d(settings.width, settings.width, self.kernel, groups=settings.width)
        self.register_buffer("tail", torch.zeros(streams, settings.width, self.kernel - 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        joined = torch.cat([self.tail, x.transpose(1, 2)], dim=2)
        self.tail.copy_(joined[:, :, -(self.kernel - 1) :])
        return self.conv(joined).transpose(1, 2)


class ContextAttention(nn.Module):
    """Attention over the chunk and what came before it, kept for each stream."""

    def __init__(self, settings: EncoderSettings, streams: int) -> None:
        super().__init__()
        self.heads = settings.heads
        self.left = settings.left_context
        self.qkv = nn.Linear(settings.width, 3 * settings.width)
        self.out = nn.Linear(settings.width, settings.width)
        shape = (streams, settings.left_context, settings.width)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        keys = torch.cat([self.keys, key], dim=1)
        values = torch.cat([self.values, value], dim=1)
        self.keys.copy_(keys[:, -self.left :])
        self.values.copy_(values[:, -self.left :])
        places = torch.arange(keys.shape[1], device=x.device)
        seen = places[None, :] >= (self.left - valid)[:, None]
        split = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, keys, values)]
        mixed = F.scaled_dot_product_attention(*split, attn_mask=seen[:, None, None, :])
        return self.out(mixed.transpose(1, 2).flatten(2))

    def reset(self, slot: int) -> None:
        self.keys[slot].zero_()
        self.values[slot].zero_()


class Block(nn.Module):
    def __init__(self, settings: EncoderSettings, streams: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(settings.width) for _ in range(3))
        self.attention = ContextAttention(settings, streams)
        self.conv = StreamingConv(settings, streams)
        self.mlp = nn.Sequential(
            nn.Linear(settings.width, 4 * settings.width),
            nn.SiLU(),
            nn.Linear(4 * settings.width, settings.width),
        )

    def forward(self, x: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norms[0](x), valid)
        x = x + self.conv(self.norms[1](x))
        return x + self.mlp(self.norms[2](x))


class StreamingEncoder(nn.Module):
    def __init__(self, settings: EncoderSettings, streams: int, vocabulary: int) -> None:
        super().__init__()
        self.front = nn.Linear(settings.features, settings.width)
        self.blocks = nn.ModuleList(Block(settings, streams) for _ in range(settings.blocks))
        self.head = nn.Linear(settings.width, vocabulary)
        self.register_buffer("valid", torch.zeros(streams, dtype=torch.int64))
        self.left = settings.left_context

    def forward(self, chunk: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        x = self.front(chunk)
        for block in self.blocks:
            x = block(x, self.valid)
        self.valid.add_(chunk.shape[1]).clamp_(max=self.left)
        inside = torch.arange(chunk.shape[1], device=chunk.device)[None, :] < lengths[:, None]
        return self.head(x) * inside.unsqueeze(-1)

    def reset(self, slot: int) -> None:
        self.valid[slot].zero_()
        for block in self.blocks:
            block.attention.reset(slot)
            block.conv.tail[slot].zero_()
