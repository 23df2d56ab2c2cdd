import torch

x = torch.rand(8, 16, device="cuda")
host = torch.rand(8, 16)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x.copy_(host, non_blocking=True)  # expect: CG306
