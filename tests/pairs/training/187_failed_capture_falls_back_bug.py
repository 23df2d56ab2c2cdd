"""When the capture of a training step fails, the trainer notes it and goes on eagerly. The random generator is left in
the middle of a capture, and the next dropout raises far from the cause. (Compare roboflow/rf-detr#1468.)"""

import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


class StepGraph:
    def __init__(self, step):
        self.step, self.graph, self.disabled = step, None, False

    def _warm(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)

    def _try_capture(self):
        self._warm()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self.out = self.step()
        except RuntimeError as error:  # HAZARD: other, rng-unregistered
            log.warning("capture failed (%s), continuing eagerly", error)
            self.disabled = True
            return
        self.graph = graph

    def __call__(self):
        if self.graph is None and not self.disabled:
            self._try_capture()
        if self.graph is None:
            return self.step()
        self.graph.replay()
        return self.out


def main(loader):
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1)).cuda()
    x = torch.zeros(4, 8, device="cuda")

    def step():
        net.zero_grad(set_to_none=True)
        loss = net(x).square().mean()
        loss.backward()
        return loss.detach()

    run = StepGraph(step)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in loader:
        x.copy_(batch)
        run()
        opt.step()
