"""Streams by number."""

from __future__ import annotations

from typing import Any

import torch

_DEVICES = 64


def current_stream() -> int:
    """The number of this thread's current stream."""
    index = torch._C._cuda_getDevice()
    return int(torch._C._cuda_getCurrentStream(index)[0]) * _DEVICES + int(index)


def number_of_virtual(stream: Any) -> int:
    """The number of a stream of the virtual device, by its state."""
    return int(stream.number) * _DEVICES


def stream_of(number: int) -> Any:
    """The stream of a GPU that has a number."""
    stream, index = divmod(number, _DEVICES)
    return torch.cuda.Stream(stream_id=stream, device_index=index, device_type=1)


def number_of(stream: Any) -> int:
    """The number of a stream."""
    return int(stream.stream_id) * _DEVICES + int(stream.device_index)
