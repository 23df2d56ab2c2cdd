"""A script that times a replay."""

import torch
from recorder import OnItsOwnStream, Recorder

net = torch.nn.Linear(64, 64).cuda()
x = torch.zeros(8, 64, device="cuda")
net(x)

recorder = Recorder()
recorder.begin()
y = net(x)
recorder.end()
recorder.graph.replay()

careful = OnItsOwnStream()
careful.begin()
with torch.cuda.stream(careful.stream):
    y = net(x)
    careful.end()
careful.graph.replay()

with torch.cuda.stream(torch.cuda.Stream()):
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()  # ok: CG509
    y = net(x)
    graph.capture_end()

quick = torch.cuda.CUDAGraph()
with torch.cuda.graph(quick):  # ok: CG509
    y = net(x)
