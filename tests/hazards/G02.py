import torch

x = torch.zeros(8, device="cuda")
side = torch.cuda.Stream()
pool = torch.cuda.graph_pool_handle()
first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(first, pool=pool):
    y = (x * 2).exp()
with torch.cuda.graph(second, pool=pool):
    z = (x + 2).exp()
first.replay()
with torch.cuda.stream(side):
    second.replay()  # expect: CG608
