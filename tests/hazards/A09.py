import torch


class Runner:
    def __init__(self):
        self.net = torch.nn.Linear(8, 8).cuda()
        self.x = torch.zeros(8, 8, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def load(self, weight: torch.Tensor):
        self.net.weight.data = weight.cuda()  # expect: CG102

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
