"""What `torch.cuda.Stream` and `torch.cuda.Event` do on the device; the classes are torch's own."""

from __future__ import annotations

from typing import Any

import torch

from graphlint.sentinel.virtual import ended, errors, streams
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.instances import bare
from graphlint.sentinel.virtual.tensors import CUDA

DEVICE_TYPE = 1  # what c10 calls CUDA


class StreamBase:
    """The methods of `torch.cuda.Stream` that reach for its extension module; waiting is torch's own code."""

    _number: int

    def __new__(
        cls,
        device: Any = None,
        priority: int = 0,
        *,
        stream_id: int | None = None,
        stream_ptr: int | None = None,
        **_: Any,
    ) -> Any:
        stream = ended.remember(bare(cls))
        stream._number = _number(priority, stream_id, stream_ptr)
        return stream

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @property
    def stream_id(self) -> int:
        return self._number

    @property
    def device_index(self) -> int:
        return 0

    @property
    def device_type(self) -> int:
        return DEVICE_TYPE

    @property
    def device(self) -> Any:
        return CUDA

    @property
    def cuda_stream(self) -> int:
        return _state(self).handle

    @property
    def priority(self) -> int:
        return _state(self).priority

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return (0, -5)

    def query(self) -> bool:
        """Whether all its work is done."""
        stream = _state(self)
        if stream.capture is not None:
            raise stream.capture.fail(errors.UNSUPPORTED)
        device().unsafe()
        return not stream.busy

    if hasattr(torch.Stream, "is_capturing"):  # torch 2.12 and newer

        def is_capturing(self) -> bool:
            """Whether it is part of a capture."""
            return _state(self).capture is not None

    def synchronize(self) -> None:
        """Wait for all its work."""
        device().wait_for(_state(self))

    def __eq__(self, other: object) -> bool:
        return self.stream_id == getattr(other, "stream_id", None)

    def __hash__(self) -> int:
        return hash(self.stream_id)


class EventBase:
    """The methods of `torch.cuda.Event`."""

    _event: streams.Event

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> Any:
        event = ended.remember(bare(cls))
        event._event = streams.Event(enable_timing, external)
        return event

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: Any) -> Any:
        errors.refuse("events shared between processes")

    @property
    def device(self) -> Any:
        return CUDA

    @property
    def cuda_event(self) -> int:
        return id(self._event) if self._event.recorded else 0

    def record(self, stream: Any = None) -> None:
        """Mark a place in a stream."""
        self._event.record(_state(stream))

    def wait(self, stream: Any = None) -> None:
        """Order whatever a stream is given next after the mark."""
        device().wait(_state(stream), self._event)

    def query(self) -> bool:
        """Whether everything before the mark is done."""
        if not self._event.recorded:
            return True
        self._refuse_captured()
        device().unsafe()
        stream = self._event.stream
        return stream is None or not stream.busy

    def synchronize(self) -> None:
        """Wait for everything before the mark."""
        if not self._event.recorded:
            return
        self._refuse_captured()
        device().unsafe()
        self._event.finish()

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds between two marks, of the host's clock."""
        first, last = self._event, end_event._event
        if not (first.timing and last.timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (first.recorded and last.recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        self._refuse_captured()
        end_event._refuse_captured()
        device().unsafe()
        if (first.stream and first.stream.busy) or (last.stream and last.stream.busy):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return max(last.time - first.time, 0.0) * 1e3

    def _refuse_captured(self) -> None:
        capture = self._event.capture
        if capture is not None:
            if capture in device().captures:
                raise capture.fail(errors.CAPTURED_EVENT)
            raise errors.cuda_error(errors.CAPTURED_EVENT)

    def ipc_handle(self) -> Any:
        errors.refuse("events shared between processes")


def _number(priority: int, stream_id: int | None, stream_ptr: int | None) -> int:
    if stream_id is not None:
        return stream_id
    if stream_ptr is not None:
        for number, stream in device().streams.items():
            if stream.handle == stream_ptr:
                return number
        errors.refuse(f"a stream that another library made ({stream_ptr:#x})")
    return device().side_stream(priority).number


def _state(handle: Any) -> streams.Stream:
    if handle is None:
        return device().current
    if not hasattr(handle, "stream_id"):
        raise TypeError(f"expected a torch.cuda.Stream, got {type(handle).__name__}")
    return device().stream(handle.stream_id)
