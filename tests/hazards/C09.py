import torch

x = torch.rand(8, 16, device="cuda")
rows = torch.arange(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = torch.repeat_interleave(x, rows, dim=0)  # expect: CG305
    b = torch.nn.functional.one_hot(rows)  # expect: CG305
    c = torch.histc(x)  # expect: CG305
