from __future__ import annotations

import queue
import threading

import torch

from .recogniser import Recogniser
from .sessions import Sessions


class Scheduler(threading.Thread):
    """Advances all streams that have a chunk, and hands what was heard to whoever waits for it."""

    def __init__(self, recogniser: Recogniser, sessions: Sessions) -> None:
        super().__init__(daemon=True)
        self.recogniser = recogniser
        self.sessions = sessions
        self.heard: queue.Queue[tuple[str, torch.Tensor]] = queue.Queue()
        self.stopping = threading.Event()
        self.lock = threading.Lock()

    def run(self) -> None:
        while not self.stopping.is_set():
            with self.lock:
                ready = self.sessions.ready()
                results = self.recogniser.step(ready) if ready else {}
            for name, best in results.items():
                self.heard.put((name, best))
            if not ready:
                self.stopping.wait(0.005)

    def push(self, name: str, chunk: torch.Tensor) -> None:
        with self.lock:
            self.sessions.open[name].pending.append(chunk)

    def finish(self, name: str) -> None:
        with self.lock:
            self.recogniser.forget(self.sessions.stop(name))
