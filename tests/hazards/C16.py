import torch

x = torch.rand(8, 16, device="cuda")
net = torch.nn.Linear(16, 16).cuda()
net(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    net(x).sum().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)  # expect: CG307
    if torch.isnan(x).any():  # expect: CG401
        x.zero_()
with torch.autograd.detect_anomaly(), torch.cuda.graph(graph):
    net(x).sum().backward()  # expect: CG307
