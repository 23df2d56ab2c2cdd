import torch

x = torch.zeros(4, 4, device="cuda")
ids = torch.zeros(4, dtype=torch.int32, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * ids
x.copy_(torch.ones(1, 4, device="cuda"))  # expect: CG108
graph.replay()
