import torch


class Runner:
    def __init__(self):
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.1)).cuda()
        self.x = torch.zeros(8, 8, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def evaluate(self, x):
        self.net.eval()  # expect: CG402
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
