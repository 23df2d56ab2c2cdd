import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.manual_seed(1)  # expect: CG505
    y = torch.rand_like(x)
