"""Hooks that a debugging session hangs on a model."""

from torch import nn


def watch(layer: nn.Module, seen: list):
    layer.register_forward_hook(lambda module, given, out: seen.append(out.shape))  # expect: CG406


def watch_briefly(layer: nn.Module, seen: list):
    handle = layer.register_forward_hook(lambda module, given, out: seen.append(out.shape))  # ok: CG406
    handle.remove()
