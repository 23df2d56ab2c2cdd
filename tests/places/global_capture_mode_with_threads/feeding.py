"""Threads that bring data to the device."""

import queue
import threading

import torch


class Feeder(threading.Thread):
    def __init__(self, items):
        super().__init__(daemon=True)
        self.items = items
        self.ready: queue.Queue = queue.Queue(2)

    def run(self):
        for item in self.items:
            self.ready.put(torch.as_tensor(item).to("cuda"))


def watch(stop: threading.Event, beats: list):
    while not stop.is_set():
        beats.append(len(beats))


def pin(items, out: queue.Queue):
    for item in items:
        out.put(torch.as_tensor(item).pin_memory())
