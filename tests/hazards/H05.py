import torch
from torch.utils.data import DataLoader


def train(dataset):
    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True)
    x = torch.zeros(8, 8, device="cuda")
    graph = None
    for batch in loader:
        x.copy_(batch)
        if graph is None:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # expect: CG502
                y = x * 2
        graph.replay()
        print(y.sum())
