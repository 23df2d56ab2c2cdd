import torch

x = torch.rand(8, 16, device="cuda")
count = torch.ones((), dtype=torch.int64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = x[:count]  # expect: CG302
    for _ in range(count):  # expect: CG302
        x.add_(1)
