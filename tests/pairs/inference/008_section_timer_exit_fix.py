"""Fixed form: the timer only measures outside capture."""

import time

import torch
import torch.nn as nn


class Section:
    def __init__(self, book: dict, name: str, enabled: bool):
        self.book, self.name, self.enabled = book, name, enabled

    def __enter__(self):
        self.started = time.perf_counter()
        return self

    def __exit__(self, *failure) -> None:
        if self.enabled and not torch.cuda.is_current_stream_capturing():
            torch.cuda.synchronize()
            self.book.setdefault(self.name, []).append(time.perf_counter() - self.started)


class Timers:
    def __init__(self, enabled: bool = False):
        self.enabled = enabled
        self.book: dict[str, list[float]] = {}

    def __call__(self, name: str) -> Section:
        return Section(self.book, name, self.enabled)


class Talker(nn.Module):
    def __init__(self, width: int, timers: Timers):
        super().__init__()
        self.text = nn.Linear(width, width)
        self.audio = nn.Linear(width, width)
        self.timed = timers

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.timed("text"):
            x = self.text(x)
        with self.timed("audio"):
            return self.audio(x)


class Service:
    def __init__(self, width: int, batch: int):
        self.talker = Talker(width, Timers(enabled=True)).cuda()
        self.x = torch.zeros(batch, width, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    @torch.inference_mode()
    def capture(self) -> None:
        for _ in range(2):
            self.talker(self.x)
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.y = self.talker(self.x)
