"""Whether the batch is mirrored is a flag that each call brings; the captured code took the branch of the
first call."""

import torch


class Pipeline:
    def __init__(self, net):
        self.net = net
        self.mirror = False

    def __call__(self, x):
        if self.mirror:  # HAZARD: frozen-scalar
            x = x.flip(-1)
        return self.net(x).square().mean()


class Step:
    def __init__(self, net, shape):
        self.pipeline = Pipeline(net)
        self.x = torch.zeros(shape, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def body(self):
        self.pipeline.net.zero_grad(set_to_none=True)
        loss = self.pipeline(self.x)
        loss.backward()
        return loss

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.body()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(self.graph):
            self.loss = self.body()

    def run(self, x, mirror):
        self.pipeline.mirror = mirror  # ALT: frozen-scalar
        self.x.copy_(x)
        self.graph.replay()
        return self.loss.item()
