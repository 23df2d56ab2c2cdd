import torch
import torch.distributed as dist

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    dist.barrier()  # expect: CG307
    dist.all_gather_object([None, None], 1)  # expect: CG307
