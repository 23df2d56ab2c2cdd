"""After a streaming speech encoder whose caches travel with the session.

Fixed form: the session gets copies of the caches.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn as nn


class EncoderCaches(NamedTuple):
    channel: torch.Tensor
    time: torch.Tensor


class CachedEncoder(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.mix = nn.Linear(2 * width, width)

    def forward(self, frames: torch.Tensor, caches: EncoderCaches) -> tuple[torch.Tensor, EncoderCaches]:
        out = self.mix(torch.cat([frames, caches.channel], dim=-1))
        return out, EncoderCaches(out + caches.time, caches.time * 0.5)


class EncoderGraphs:
    def __init__(self, encoder: CachedEncoder):
        self.encoder = encoder
        self.entries: dict[tuple[int, ...], tuple] = {}

    def _capture(self, frames: torch.Tensor, caches: EncoderCaches):
        static_frames = frames.clone()
        static_caches = EncoderCaches(*(c.clone() for c in caches))
        for _ in range(2):
            self.encoder(static_frames, static_caches)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            encoded, new_caches = self.encoder(static_frames, static_caches)
        return graph, static_frames, static_caches, encoded, new_caches

    def step(self, frames: torch.Tensor, caches: EncoderCaches) -> tuple[torch.Tensor, EncoderCaches]:
        key = tuple(frames.shape)
        if key not in self.entries:
            self.entries[key] = self._capture(frames, caches)
        graph, static_frames, static_caches, encoded, new_caches = self.entries[key]
        static_frames.copy_(frames)
        for static, cache in zip(static_caches, caches):
            static.copy_(cache)
        graph.replay()
        return encoded.clone(), EncoderCaches(*(cache.clone() for cache in new_caches))


class StreamingService:
    def __init__(self, encoder: CachedEncoder, width: int):
        self.graphs = EncoderGraphs(encoder.cuda().eval())
        self.width = width
        self.caches: dict[str, EncoderCaches] = {}
        self.texts: dict[str, list[int]] = {}

    @torch.inference_mode()
    def on_chunk(self, session: str, frames: torch.Tensor) -> None:
        if session not in self.caches:
            zero = torch.zeros(frames.shape[0], self.width, device="cuda")
            self.caches[session] = EncoderCaches(zero, zero.clone())
            self.texts[session] = []
        encoded, self.caches[session] = self.graphs.step(frames.cuda(), self.caches[session])
        self.texts[session] += encoded.argmax(-1).tolist()

    def close(self, session: str) -> list[int]:
        del self.caches[session]
        return self.texts.pop(session)
