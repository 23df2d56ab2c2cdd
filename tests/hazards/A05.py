import torch

x = torch.zeros(4, 4, device="cuda")
ids = torch.zeros(4, dtype=torch.int32, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * ids
batch = torch.rand(9, 4, device="cuda")
x.copy_(batch[: x.shape[0]])  # expect: CG108
graph.replay()
