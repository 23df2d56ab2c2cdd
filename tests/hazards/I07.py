import torch

net = torch.nn.Linear(4, 4).cuda()
x = torch.rand(4, 4, device="cuda")
warm = net(x).sum()
warm.backward()
for p in net.parameters():
    p.grad = None
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = net(x).sum()
    loss.backward()  # expect: CG703
