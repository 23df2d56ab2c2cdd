"""Source: a training watchdog in a Lightning plugin; the matrix of threads and capture modes in NVIDIA's notes.

Symptom: one capture in twenty dies with "operation failed due to a previous error during capture" though it is thread-local:
the watchdog thread synchronizes the whole device, which no mode allows.
"""

import threading
import time

import torch


class Watchdog(threading.Thread):
    def __init__(self, period=5.0):
        super().__init__(daemon=True)
        self.period = period
        self.stop_event = threading.Event()
        self.heartbeat = torch.cuda.Event()
        self.last_alive = time.monotonic()

    def run(self):
        while not self.stop_event.wait(self.period):
            torch.cuda.synchronize()  # HAZARD: thread-mode
            self.last_alive = time.monotonic()


class GraphTrainer:
    def __init__(self, net, x):
        self.net, self.x = net, x.clone()
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.watchdog = Watchdog()
        self.watchdog.start()
        self.graph = torch.cuda.CUDAGraph()

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.opt.step()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):  # ALT: thread-mode
            self.loss = self._step()

    def fit(self, loader):
        self.capture()
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()
            self.watchdog.heartbeat.record()
        self.watchdog.stop_event.set()
