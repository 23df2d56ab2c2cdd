import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = torch.nonzero(x)  # expect: CG305
    b = x[x > 0]  # expect: CG305
    c = torch.unique(x)  # expect: CG305
