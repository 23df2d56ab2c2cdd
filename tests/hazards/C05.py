import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    if x.sum() > 0:  # expect: CG401
        y = x * 2
    assert torch.isfinite(x).all()  # expect: CG401
    z = max(x[0, 0], x[0, 1])  # expect: CG302
