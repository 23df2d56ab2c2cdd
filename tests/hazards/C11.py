import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = torch.tensor([1.0, 2.0], device="cuda")  # expect: CG306
    b = x.new_tensor([1.0])  # expect: CG306
