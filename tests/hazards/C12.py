import torch

x = torch.rand(8, 16, device="cuda")
host = torch.rand(8)
rows = torch.tensor([0, 1])
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = host.cuda()  # expect: CG306
    b = x[rows]  # expect: CG306
    c = x[[0, 2]]  # expect: CG306
