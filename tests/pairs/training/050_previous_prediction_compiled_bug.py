"""A consistency term compares this prediction with the one of the step before, which a model compiled with
reduce-overhead has overwritten."""

import torch
from torch import nn


class Tracker:
    def __init__(self, net: nn.Module):
        self.net = torch.compile(net.cuda().eval(), options={"triton.cudagraphs": True})
        self.previous = None
        self.drift = []

    @torch.inference_mode()
    def update(self, frame):
        torch.compiler.cudagraph_mark_step_begin()
        current = self.net(frame.cuda(non_blocking=True))
        if self.previous is not None:
            self.drift.append((current - self.previous).abs().mean().item())  # HAZARD: stale-output
        self.previous = current  # ALT: stale-output


def run(video, width=32):
    tracker = Tracker(nn.Conv2d(3, width, 3))
    for frame in video:
        tracker.update(frame)
    return sum(tracker.drift) / max(1, len(tracker.drift))
