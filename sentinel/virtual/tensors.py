"""Tensors in the device's memory: plain CPU tensors of torch, told apart by where their storage lies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.allocator import Allocator, OutOfMemory
from graphlint.sentinel.virtual.arena import ALIGNMENT, Arena, poison
from graphlint.sentinel.virtual.device import active, device

DEVICE_BYTES = 32 << 30
PINNED_BYTES = 8 << 30

CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")
META = torch.device("meta")


class Memory:
    """An arena, the allocator that hands it out, and a storage that lies over all of it."""

    def __init__(self, size: int) -> None:
        self.arena = Arena(size)
        # Nothing begins where the arena does: a storage is told from the one that lies over all of it.
        self.allocator = Allocator(self.arena.base + ALIGNMENT, self.arena.size - ALIGNMENT)
        self.whole = torch.frombuffer(self.arena.buffer, dtype=torch.uint8).untyped_storage()
        self.low, self.high = self.arena.base, self.arena.end
        self._kinds: dict[torch.dtype, torch.Tensor] = {}

    def take(self, size: int, pool: int, stream: int) -> Any:
        """A buffer of `size` bytes; its block is free again when nothing holds the buffer."""
        self.bury()
        block = self.allocator.take(size, pool, stream)
        return self.arena.block(block.address, size)

    def bury(self) -> None:
        """Give back, and poison, the blocks whose storages have died."""
        graveyard = self.arena.graveyard
        while graveyard:
            self._free(graveyard.popleft())

    def _free(self, address: int) -> None:
        block = self.allocator.blocks.get(address)
        if block is None or block.free:
            return
        self.allocator.release(address)

    def alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same memory as `tensor`, held by nobody."""
        offset = (tensor.data_ptr() - self.low) // tensor.element_size() if tensor.numel() else 0
        kind = self._kinds.get(tensor.dtype)
        if kind is None:
            kind = self._kinds[tensor.dtype] = torch.empty(0, dtype=tensor.dtype).set_(self.whole)
        same = kind.as_strided(tensor.size(), tensor.stride(), offset)
        same = torch._conj(same) if tensor.is_conj() else same
        return torch._neg_view(same) if tensor.is_neg() else same


class DeviceMemory(Memory):
    """Freed blocks are poisoned: what a graph reads of them is never right by luck."""

    def _free(self, address: int) -> None:
        block = self.allocator.blocks.get(address)
        if block is None or block.free:
            return
        size, stream = block.size, block.key[1]
        self.allocator.release(address)
        if active() and device().poisons:
            device().stream(stream).after(block.users, lambda: poison(address, size))
        block.users.clear()


_device_memory: DeviceMemory | None = None
_pinned_memory: Memory | None = None


def device_memory() -> DeviceMemory:
    """The memory of the device, reserved when first asked for."""
    global _device_memory
    if _device_memory is None:
        _device_memory = DeviceMemory(DEVICE_BYTES)
    return _device_memory


def pinned_memory() -> Memory:
    """Page-locked memory of the host, likewise."""
    global _pinned_memory
    if _pinned_memory is None:
        _pinned_memory = Memory(PINNED_BYTES)
    return _pinned_memory


_address = torch._C._data_address


def address_of(tensor: torch.Tensor) -> int:
    """Where the tensor's storage begins; of a wrapper or a sparse tensor, that of what it holds."""
    try:
        address: int = _address(tensor)
    except RuntimeError:
        return _address_inside(tensor)
    return address or _address_inside(tensor)


def _address_inside(tensor: torch.Tensor) -> int:
    functorch = torch._C._functorch
    if functorch.is_functorch_wrapped_tensor(tensor):
        return address_of(functorch.get_unwrapped(tensor))
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        if tensor.layout == torch.sparse_coo:
            return address_of(tensor._values())
        if tensor.layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
            return address_of(tensor.values())
    return 0


def is_virtual(tensor: torch.Tensor) -> bool:
    """Whether the tensor lies in the device's memory."""
    memory = _device_memory
    return memory is not None and memory.low <= address_of(tensor) < memory.high


def is_pinned(tensor: torch.Tensor) -> bool:
    """Whether the tensor lies in page-locked memory."""
    memory = _pinned_memory
    return memory is not None and memory.low <= address_of(tensor) < memory.high


def ownerless(tensor: torch.Tensor) -> torch.Tensor:
    """What a recorded step keeps of a tensor: an alias that does not hold it, or of host memory the
    tensor."""
    if is_virtual(tensor):
        if tensor.layout != torch.strided:
            return _rebuilt(tensor, device_memory().alias)
        return device_memory().alias(tensor)
    if is_pinned(tensor):
        return pinned_memory().alias(tensor)
    return tensor


def ownerless_storage(tensor: torch.Tensor) -> torch.Tensor:
    """The same over a storage of its own, for operations that look beyond the tensor at its storage."""
    if not is_virtual(tensor):
        return ownerless(tensor)
    storage = tensor.untyped_storage()
    buffer = (ctypes.c_uint8 * storage.nbytes()).from_address(storage.data_ptr())
    over = torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()
    same = torch.empty(0, dtype=tensor.dtype)
    return same.set_(over, tensor.storage_offset(), tensor.size(), tensor.stride())


def extent(tensor: torch.Tensor) -> int:
    """How many bytes its elements span."""
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))
    return int(last + 1) * tensor.element_size()


def place(like: torch.Tensor, *, pinned: bool = False) -> torch.Tensor:
    """New memory of the device, or pinned, with the shape, strides and type of `like`; contents undefined."""
    if like.is_quantized:
        errors.refuse("quantized tensors")
    size = max(extent(like), 1)
    buffer = _take_pinned(size) if pinned else _take(size)
    itemsize = like.element_size()
    if len(buffer) % itemsize:
        flat = torch.empty(0, dtype=like.dtype).set_(
            torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()
        )
        return flat.as_strided(like.size(), like.stride())
    return torch.frombuffer(buffer, dtype=like.dtype).as_strided(like.size(), like.stride())


def _take(size: int) -> Any:
    state = device()
    stream = state.current
    capture = stream.capture
    memory = device_memory()
    pool = capture.pool if capture is not None else 0
    if state.captures and capture is None and memory.allocator.would_reserve(size, pool, stream.number):
        state.unsafe()
    try:
        return memory.take(size, pool, stream.number)
    except OutOfMemory:
        raise torch.OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {size / (1 << 20):.2f} MiB. GPU 0 has a total capacity "
            f"of {memory.allocator.size >> 20} MiB of which "
            f"{(memory.allocator.size - memory.allocator.reserved) >> 20} MiB is free."
        ) from None


def _take_pinned(size: int) -> Any:
    device().unsafe(allowed_to_owner=True)
    return pinned_memory().take(size, 0, 0)


def adopt(value: torch.Tensor) -> torch.Tensor:
    """The same values in the device's memory."""
    if value.layout != torch.strided:
        return _rebuilt(value, adopt)
    if value.is_conj() or value.is_neg():
        value = value.resolve_conj().resolve_neg()
    placed = place(value)
    placed.copy_(value)
    return placed


def _rebuilt(value: torch.Tensor, part: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A sparse tensor of other parts."""
    if value.layout == torch.sparse_coo:
        parts = part(value._indices()), part(value._values())
        return torch.sparse_coo_tensor(
            *parts, value.size(), check_invariants=False, is_coalesced=value.is_coalesced()
        )
    if value.layout == torch.sparse_csr:
        rows, columns, values = part(value.crow_indices()), part(value.col_indices()), part(value.values())
        return torch.sparse_csr_tensor(rows, columns, values, value.size(), check_invariants=False)
    errors.refuse(f"tensors of layout {value.layout}")


def spoil(tensor: torch.Tensor) -> None:
    """Poison a tensor's memory: what a captured operation will hold until the first replay."""
    if tensor.numel():
        poison(tensor.data_ptr(), extent(tensor))
