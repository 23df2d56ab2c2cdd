import torch

x = torch.rand(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
    handle = y.untyped_storage()._share_cuda_()  # expect: CG307
