"""Source: Lightning-AI/pytorch-lightning#10174 (first attempts at a graph plugin).

Symptom: entering the plugin's recording context raises "CUDA graphs must be captured on a non-default stream": begin and end
are called without a stream of their own.
"""

import torch


class Recorder:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()
        self.stream = torch.cuda.Stream()

    def __enter__(self):
        torch.cuda.synchronize()
        self.graph.capture_begin()  # HAZARD: stream-escape
        return self.graph

    def __exit__(self, *exc):
        self.graph.capture_end()
        return False


class GraphPlugin:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.recorder = Recorder()
        self.recorded = False

    def _closure(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model(self.batch).mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def setup(self, batch):
        self.batch = batch.clone()
        self.recorder.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.recorder.stream):
            for _ in range(3):
                self._closure()
        torch.cuda.current_stream().wait_stream(self.recorder.stream)
        with self.recorder:
            self.loss = self._closure()
        self.recorded = True

    def optimizer_step(self, batch):
        if not self.recorded:
            self.setup(batch)
        self.batch.copy_(batch)
        self.recorder.graph.replay()
        return self.loss.clone()


def main(loader):
    model = torch.nn.Linear(64, 1).cuda()
    plugin = GraphPlugin(model, torch.optim.SGD(model.parameters(), lr=0.01))
    for batch in loader:
        plugin.optimizer_step(batch.cuda())
