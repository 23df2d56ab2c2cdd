"""Source: LibreYOLO/libreyolo#681, with a loader that moves batches on a thread of its own.

Symptom: the lazy capture sometimes ends with error 901: the loader's thread goes on moving batches to the device, which
allocates memory, while the main thread captures in the global mode.
"""

import queue
import threading

import torch
from torch import nn


class BackgroundLoader:
    def __init__(self, batches, depth=4):
        self.queue = queue.Queue(maxsize=depth)
        self.batches = batches
        self.thread = threading.Thread(target=self._fill, daemon=True)
        self.thread.start()

    def _fill(self):
        for batch in self.batches:
            self.queue.put(torch.as_tensor(batch).cuda(non_blocking=True))
        self.queue.put(None)

    def __iter__(self):
        while (batch := self.queue.get()) is not None:
            yield batch


class Autoencoder(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.enc, self.dec = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        return nn.functional.mse_loss(self.dec(torch.tanh(self.enc(x))), x)


def capture_step(net, opt, x):
    def step():
        opt.zero_grad(set_to_none=True)
        loss = net(x)
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
    with torch.cuda.graph(graph):  # HAZARD: thread-mode
        loss = step()
    return graph, loss


def train(batches, d=64):
    net = Autoencoder(d, 16).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    graph, static = None, torch.zeros(128, d, device="cuda")
    for batch in BackgroundLoader(batches):
        static.copy_(batch)
        if graph is None:
            graph, loss = capture_step(net, opt, static)
        graph.replay()
    return loss.item()
