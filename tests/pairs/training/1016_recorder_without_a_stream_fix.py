"""Source: Lightning-AI/pytorch-lightning#10174 (first attempts at a graph plugin).

Fixed: the context switches to a side stream for the recording.
"""

import torch


class Recorder:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()
        self.stream = torch.cuda.Stream()

    def __enter__(self):
        torch.cuda.synchronize()
        self.stream.wait_stream(torch.cuda.current_stream())
        self.context = torch.cuda.stream(self.stream)
        self.context.__enter__()
        self.graph.capture_begin()
        return self.graph

    def __exit__(self, *exc):
        self.graph.capture_end()
        self.context.__exit__(*exc)
        torch.cuda.current_stream().wait_stream(self.stream)
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
