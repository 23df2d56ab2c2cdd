import torch

x = torch.rand(8, 16, device="cuda")
square = torch.eye(8, device="cuda")
torch.linalg.inv(square)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = torch.linalg.inv(square)  # expect: CG307
    b = torch.linalg.svd(square)  # expect: CG307
    c = torch.linalg.eigh(square)  # expect: CG307
