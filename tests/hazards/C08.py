import torch

x = torch.rand(8, 16, device="cuda")
lengths = torch.zeros(8, device="cuda")
rows = torch.arange(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x[x > 0] = x[0, :1]  # expect: CG305
    lengths[0] = 1  # expect: CG306
    lengths[rows] = 0  # expect: CG306
