import flashinfer
import torch

q = torch.zeros(8, 64, device="cuda")
wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(torch.empty(1024, device="cuda"), "NHD")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = wrapper.run(q, q)  # expect: CG104
