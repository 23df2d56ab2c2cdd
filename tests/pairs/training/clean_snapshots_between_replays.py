"""Clean: snapshots are copied on a stream of their own, which the next replay waits for; a thread writes them to disk
after their event."""

from __future__ import annotations

import queue
import threading

import torch
from torch import nn


class Writer:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.jobs: queue.Queue = queue.Queue(maxsize=1)
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            step, event, host = job
            event.synchronize()
            torch.save(host, f"{self.folder}/{step}.pt")
            self.jobs.task_done()

    def put(self, step: int, event: torch.cuda.Event, host: dict[str, torch.Tensor]) -> None:
        self.jobs.put((step, event, host))

    def close(self) -> None:
        self.jobs.put(None)
        self.thread.join()


class Saver:
    def __init__(self, net: nn.Module) -> None:
        self.net = net
        self.stream = torch.cuda.Stream()
        self.host = {
            name: torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
            for name, value in net.state_dict().items()
        }

    def save(self, writer: Writer, step: int) -> None:
        writer.jobs.join()
        done = torch.cuda.Event()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for name, value in self.net.state_dict().items():
                self.host[name].copy_(value, non_blocking=True)
            done.record()
        torch.cuda.current_stream().wait_event(done)
        writer.put(step, done, self.host)


def train(net: nn.Module, loader, folder: str, every: int = 1000) -> None:
    net = net.cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, capturable=True)
    x = torch.zeros(64, 256, device="cuda")

    def step() -> torch.Tensor:
        opt.zero_grad(set_to_none=True)
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        loss = step()

    writer, saver = Writer(folder), Saver(net)
    for number, batch in enumerate(loader):
        x.copy_(batch)
        graph.replay()
        if number % every == 0:
            saver.save(writer, number)
            print(number, loss.item())
    writer.close()
