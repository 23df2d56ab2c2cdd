"""How engines choose their precision."""

import contextlib

import torch


@contextlib.contextmanager
def mixed():
    with torch.autocast("cuda", dtype=torch.bfloat16):  # expect: CG801
        yield


@contextlib.contextmanager
def mixed_without_cache():
    with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):  # ok: CG801
        yield
