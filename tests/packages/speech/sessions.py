from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass
class Session:
    name: str
    slot: int
    pending: list[torch.Tensor] = field(default_factory=list)
    text: list[int] = field(default_factory=list)
    closed: bool = False


class Sessions:
    def __init__(self, limit: int) -> None:
        self.free = list(range(limit))
        self.open: dict[str, Session] = {}

    def start(self, name: str) -> Session:
        session = self.open[name] = Session(name, self.free.pop())
        return session

    def stop(self, name: str) -> Session:
        session = self.open.pop(name)
        self.free.append(session.slot)
        return session

    def ready(self) -> list[Session]:
        return [session for session in self.open.values() if session.pending]
