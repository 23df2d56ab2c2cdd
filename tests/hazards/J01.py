import torch


def build():
    net = torch.nn.Linear(8, 8).cuda()
    opt = torch.optim.Adam(net.parameters())
    x = torch.zeros(8, 8, device="cuda")
    for _ in range(3):
        net(x).sum().backward()
        opt.step()
    opt.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x).sum().backward()
        opt.step()  # expect: CG804
    return graph, x
