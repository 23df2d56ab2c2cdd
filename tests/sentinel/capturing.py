"""A capture in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def capture(body: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    """The graph of a function, and what the function returned while it was captured."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        made = body()
    return graph, made


def quietly(stream: Any) -> None:
    """Leave the capture's stream, which torch does not do after a capture that failed."""
    import torch

    torch.cuda.set_stream(stream)


def take_over(address: int, make: Callable[[], Any]) -> list[Any]:
    """Tensors made until one lies at a freed address; the allocator may have other room of the size before."""
    made = [make()]
    while made[-1].data_ptr() != address:
        assert len(made) < 10_000
        made.append(make())
    return made
