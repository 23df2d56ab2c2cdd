import torch

pool = torch.cuda.graph_pool_handle()
graphs = {}
for size in range(600, 0, -1):
    x = torch.zeros(size, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):  # expect: CG607
        y = x * 2
    graphs[size] = graph, x, y
