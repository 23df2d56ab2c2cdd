import torch

x = torch.rand(8, 16, device="cuda")
host = torch.rand(16, pin_memory=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x[0].copy_(host)  # expect: CG301
