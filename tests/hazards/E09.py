import torch

x = torch.zeros(8, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
graph.capture_begin()  # expect: CG509
y = x * 2
graph.capture_end()
