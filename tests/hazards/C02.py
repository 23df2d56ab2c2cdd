import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = x.sum().item()  # expect: CG302
    b = float(x[0, 0])  # expect: CG302
