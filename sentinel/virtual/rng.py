"""Random numbers: a generator of the device is a seed and an offset, and every draw moves the offset.

The numbers are not those of a GPU. What is the same is their life: the same seed and offset give the same
numbers, a graph records offsets relative to where its generator stands at replay, each replay moves it on, a
generator that was not registered may not be captured, and a failed capture leaves its generators stuck.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.tape import map_tensors

if TYPE_CHECKING:
    from graphlint.sentinel.virtual.capture import Capture

DEFAULT_SEED = 67280421310721
_STEP = 4  # philox makes four numbers at a time
_MASK = (1 << 64) - 1


class Philox:
    """Seed and offset, and the capture that holds them."""

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.seed = seed
        self.offset = 0
        self.capture: Capture | None = None
        self.replaying = (seed, 0)

    def draw(self, capture: Capture | None) -> int:
        """The offset of the next draw: absolute, or within the graph that `capture` will become."""
        if capture is None:
            if self.capture is not None:
                raise RuntimeError(errors.STUCK_GENERATOR)
            self.offset += _STEP
            return self.offset - _STEP
        if self.capture is not capture:
            raise RuntimeError(errors.FOREIGN_GENERATOR)
        capture.draws[self] = capture.draws.get(self, 0) + _STEP
        return capture.draws[self] - _STEP

    def begin_replay(self, draws: int) -> tuple[int, int]:
        """Where a replay starts; the generator moves past all that the graph will draw."""
        start = (self.seed, self.offset)
        self.offset += draws
        return start


def mixed(seed: int, offset: int) -> int:
    """One number that stands for a seed and an offset (splitmix64)."""
    value = (seed * 0x9E3779B97F4A7C15 + offset * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


_plain_generator: Any = torch.Generator
_by_address: WeakValueDictionary[int, VirtualGenerator] = WeakValueDictionary()


class _AnyGenerator(type(torch.Generator)):  # type: ignore[misc]
    """Generators of the CPU remain generators while `torch.Generator` names the class below."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _plain_generator)


class VirtualGenerator(_plain_generator, metaclass=_AnyGenerator):
    """`torch.Generator(device="cuda")`; for the CPU it makes the plain kind."""

    philox: Philox

    def __new__(cls, device: Any = "cpu") -> Any:
        if torch.device(device).type != "cuda":
            return _plain_generator(device)
        generator = super().__new__(cls)
        generator.philox = Philox()
        _by_address[generator._cdata] = generator
        return generator

    def __init__(self, device: Any = "cpu") -> None:
        pass

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0)

    def manual_seed(self, seed: int) -> VirtualGenerator:
        seed = int(seed) & _MASK
        if self.philox.capture is not None and self.philox.capture.open and seed != self.philox.seed:
            raise RuntimeError(
                "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if new seed "
                "is the same as the original seed."
            )
        self.philox.seed, self.philox.offset = seed, 0
        return self

    def seed(self) -> int:
        _not_capturing("seed")
        self.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
        return self.philox.seed

    def initial_seed(self) -> int:
        return self.philox.seed

    def get_offset(self) -> int:
        _not_capturing("get_offset")
        return self.philox.offset

    def set_offset(self, offset: int) -> VirtualGenerator:
        _not_capturing("set_offset")
        self.philox.offset = int(offset)
        return self

    def get_state(self) -> torch.Tensor:
        packed = struct.pack("<QQ", self.philox.seed, self.philox.offset)
        return torch.tensor(list(packed), dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> VirtualGenerator:
        self.philox.seed, self.philox.offset = struct.unpack("<QQ", bytes(state.tolist()))
        capture = self.philox.capture
        if capture is not None and capture.open:
            capture.draws[self.philox] = 0  # so that what is captured under fork_rng never moves on
        return self

    def graphsafe_get_state(self) -> VirtualGenerator:
        return self

    def graphsafe_set_state(self, state: VirtualGenerator) -> VirtualGenerator:
        self.philox = state.philox
        return self

    def clone_state(self) -> VirtualGenerator:
        _not_capturing("clone_impl")
        copy = VirtualGenerator("cuda")
        copy.philox.seed, copy.philox.offset = self.philox.seed, self.philox.offset
        return copy


def _not_capturing(what: str) -> None:
    from graphlint.sentinel.virtual.device import device

    if device().current.capture is not None:
        raise RuntimeError(
            f"Cannot call CUDAGeneratorImpl::{what} during CUDA graph capture. If you need this call to be "
            "captured, please file an issue. Current cudaStreamCaptureStatus: cudaStreamCaptureStatusActive"
        )


def philox_of(generator: Any) -> Philox | None:
    """The state behind a generator that an operation was given, if it is one of the device."""
    if generator is None:
        return None
    found = _by_address.get(generator._cdata)
    return found.philox if found is not None else None


class Seeded:
    """Runs an operation with the numbers of one seed and offset, whether or not it takes a generator."""

    def __init__(self, function: Any, kwargs: dict[str, Any], takes_generator: bool) -> None:
        self._function = function
        self._kwargs = {key: value for key, value in kwargs.items() if key != "generator"}
        self._takes_generator = takes_generator

    def holding(self, alias: Callable[[torch.Tensor], torch.Tensor]) -> Seeded:
        """The same with every tensor among the keywords replaced."""
        return Seeded(self._function, map_tensors(alias, self._kwargs), self._takes_generator)

    def __call__(self, number: int, args: Any) -> Any:
        if self._takes_generator:
            scratch = _plain_generator()
            scratch.manual_seed(number)
            return self._function(*args, **self._kwargs, generator=scratch)
        default = torch.default_generator
        before = default.get_state()
        default.manual_seed(number)
        try:
            return self._function(*args, **self._kwargs)
        finally:
            default.set_state(before)
