from __future__ import annotations

import torch

from .sessions import Session
from .settings import ServerSettings


class ChunkBatch:
    """The next chunk of every stream, gathered in pinned memory; streams without one are of length zero."""

    def __init__(self, settings: ServerSettings) -> None:
        shape = (settings.max_streams, settings.chunk, settings.encoder.features)
        self.features = torch.zeros(shape, pin_memory=True)
        self.lengths = torch.zeros(settings.max_streams, dtype=torch.int64, pin_memory=True)
        self.read = torch.cuda.Event()

    def gather(self, sessions: list[Session]) -> tuple[torch.Tensor, torch.Tensor]:
        self.read.synchronize()
        self.features.zero_()
        self.lengths.zero_()
        for session in sessions:
            chunk = session.pending.pop(0)
            self.features[session.slot, : len(chunk)] = chunk
            self.lengths[session.slot] = len(chunk)
        return self.features, self.lengths

    def was_read(self) -> None:
        self.read.record()
