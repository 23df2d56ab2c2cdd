import logging

import torch

x = torch.rand(8, 16, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    print(x)  # expect: CG304
    text = f"{x}"  # expect: CG304
    logging.warning("%s", x)  # expect: CG304
