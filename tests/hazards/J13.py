import torch


def build(net, opt):
    scaler = torch.amp.GradScaler("cuda")
    x = torch.zeros(8, 8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    net(x)
    with torch.cuda.graph(graph):
        scaler.scale(net(x).sum()).backward()
        scaler.update()  # expect: CG808
    return graph, x
