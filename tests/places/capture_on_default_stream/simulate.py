"""A simulation as a script: one graph for a step, one for a reset."""

import torch

state = torch.zeros(64, 6, device="cuda")
step, reset, report = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
side = torch.cuda.Stream()

step.capture_begin()  # expect: CG509
state.mul_(0.99)
step.capture_end()

with torch.cuda.stream(torch.cuda.default_stream()):
    reset.capture_begin()  # expect: CG509
    state.zero_()
    reset.capture_end()

side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    report.capture_begin()  # ok: CG509
    total = state.sum()
    report.capture_end()

for _ in range(100):
    step.replay()
report.replay()
print(total.item())

torch.cuda.set_stream(side)
late = torch.cuda.CUDAGraph()
late.capture_begin()  # ok: CG509
state.add_(1.0)
late.capture_end()
