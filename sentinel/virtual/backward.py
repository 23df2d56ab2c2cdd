"""The streams of the backward pass: each node runs on the stream where it was made, also inside a capture.

A node that was made on the default stream would have that stream wait for the capture, which is refused. The
nodes that add to `.grad` are made at a leaf's first use and live as long as something holds the graph: a
warm-up on the default stream whose loss is kept breaks a later capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.tensors import is_virtual

_KEY = "graphlint.stream"
_OVERWRITTEN = "modified by an inplace operation: [torch."


def note(made: Any) -> None:
    """Remember the current stream for the nodes that a call has just made."""
    if isinstance(made, torch.Tensor):
        node = made.grad_fn
        if node is not None:
            _note(node, device().current.number)
    elif isinstance(made, (tuple, list)):
        for part in made:
            note(part)


def _note(node: Any, stream: int) -> None:
    known = node.metadata
    if _KEY in known:
        return
    known[_KEY] = stream
    for below, _ in node.next_functions:
        if below is not None and below.name() == "torch::autograd::AccumulateGrad":
            below.metadata.setdefault(_KEY, stream)


def engine(plain: Callable[..., Any], mode: Callable[[], Any]) -> Callable[..., Any]:
    """The engine calls the program's Python back, whose calls are the program's again: in `mode`."""

    def run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        _check(outputs, kwargs)
        with mode():
            try:
                return plain(outputs, *args, **kwargs)
            except RuntimeError as error:
                _name_device(error, outputs)
                raise

    return run_backward


def _name_device(error: RuntimeError, outputs: Any) -> None:
    """Autograd names the type of what was overwritten, and takes the device's tensors for the CPU's."""
    text = str(error)
    if _OVERWRITTEN in text and any(is_virtual(output) for output in outputs):
        error.args = (text.replace(_OVERWRITTEN, _OVERWRITTEN + "cuda.", 1),)


def _check(outputs: Any, kwargs: dict[str, Any]) -> None:
    capture = device().current.capture
    if capture is None or not kwargs.get("accumulate_grad"):
        return  # gradients for given inputs alone: which nodes take part is not worked out
    if any(node.metadata.get(_KEY) == 0 for node in _nodes(outputs)):
        raise capture.fail(errors.IMPLICIT)


def _nodes(outputs: Any) -> Iterator[Any]:
    waiting = [output.grad_fn for output in outputs if isinstance(output, torch.Tensor)]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        waiting += [below for below, _ in node.next_functions]
