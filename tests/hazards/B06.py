import torch


class Runner:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        self.hidden = None
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.hidden = self.x * 2
            self.y = self.hidden + 1

    def trim(self, rows: torch.Tensor):
        self.hidden = self.hidden[rows]  # expect: CG101

    def step(self, x, rows: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        self.trim(rows)
        return self.y.clone()

    def steps(self, xs, rows: torch.Tensor):
        for x in xs:
            self.x.copy_(x)
            self.graph.replay()
            print(self.hidden.sum())
            self.trim(rows)


class Watched(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.hidden = None

    def forward(self, x):
        self.hidden = self.layer(x)
        return self.hidden.relu()


class Watcher:
    def __init__(self):
        self.net = Watched().cuda()
        self.x = torch.zeros(8, 8, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)
        self.seen = []

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        self.seen.append(self.net.hidden)  # expect: CG201

    def spread(self):
        return torch.stack(self.seen).std(0)
