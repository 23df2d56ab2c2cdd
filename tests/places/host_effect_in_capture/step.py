"""Steps with pauses and cleaning that belong elsewhere."""

import gc
import time

import torch


def tidy():
    gc.collect()  # expect: CG405


def wait_for_peer(seconds: float):
    time.sleep(seconds)  # expect: CG405


class Throttle:
    def __init__(self, seconds: float):
        self.seconds = seconds

    def __enter__(self):
        return self

    def __exit__(self, *error):
        time.sleep(self.seconds)  # expect: CG405


class Cooldown:
    def pause(self):
        if torch.cuda.is_current_stream_capturing():
            return
        time.sleep(0.1)  # ok: CG405
        gc.collect()  # ok: CG405
