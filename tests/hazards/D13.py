import torch

x = torch.rand(8, 16, device="cuda")
flag = torch.ones((), dtype=torch.bool, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.cond(flag, lambda a: a * 2, lambda a: a * 3, (x,))  # expect: CG307
