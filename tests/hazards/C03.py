import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = x.cpu()  # expect: CG303
    b = x.tolist()  # expect: CG303
    torch.save(x, "x.pt")  # expect: CG303
