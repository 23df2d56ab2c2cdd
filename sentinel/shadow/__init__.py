"""The shadow: what was captured runs a second time, eagerly, and has to give what the replay gives.

`source` finds the body of a `with torch.cuda.graph(...)` and makes a function of it, `entry` the frame it is
in, `holding` remembers its names without keeping tensors alive, `settings` are torch's modes and random
numbers, `rerun` runs it and undoes all it did, `writes` what it wrote, `compare` says what differs, `causes`
why; `subject` is one captured graph, `eager` one run of it.
"""
