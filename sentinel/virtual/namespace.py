"""The functions under `torch.cuda`: devices, current stream, synchronisation. `torch.cuda` itself is torch's
own.

On a CPU build of torch the extension module lacks these functions; here they are, with the names that
`torch.cuda` calls. They are set while the device is in use and deleted afterwards.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from graphlint.sentinel.patches import Patches
from graphlint.sentinel.virtual import statistics
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.graphs import GraphBase, empty_cache
from graphlint.sentinel.virtual.handles import DEVICE_TYPE, EventBase, StreamBase
from graphlint.sentinel.virtual.rng import VirtualGenerator
from graphlint.sentinel.virtual.tensors import DEVICE_BYTES, device_memory

PROPERTIES = SimpleNamespace(
    name="graphlint virtual CUDA device",
    major=9,
    minor=0,
    total_memory=DEVICE_BYTES,
    multi_processor_count=132,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    L2_cache_size=50 << 20,
    is_integrated=0,
    is_multi_gpu_board=0,
    gcnArchName="",
    uuid="00000000-0000-0000-0000-000000000000",
    pci_bus_id=0,
    pci_device_id=0,
    pci_domain_id=0,
    clock_rate=1980000,
    memory_clock_rate=2619000,
    memory_bus_width=5120,
)


def install(patches: Patches) -> None:
    """Give torch's extension module, and the names copied from it, the functions of the device."""
    for name, function in _FUNCTIONS.items():
        patches.set(torch._C, name, function)
    _fill(patches, torch._C._CUDAGraph, GraphBase)
    _fill(patches, torch.cuda.Stream, StreamBase)
    _fill(patches, torch.cuda.Event, EventBase)
    cuda = torch.cuda
    patches.set(cuda.graphs, "_cuda_isCurrentStreamCapturing", _is_capturing)
    patches.set(cuda.graphs, "_graph_pool_handle", _pool_handle)
    patches.set(cuda.graphs.graph, "default_capture_stream", None)
    patches.set(cuda, "_initialized", True)
    patches.set(cuda, "_lazy_init", lambda: None)
    patches.set(cuda, "_cudart", CUDART)
    patches.set(cuda, "default_generators", (device().generator,))
    patches.set(cuda, "get_device_properties", lambda device=None: PROPERTIES)
    patches.set(cuda, "get_device_capability", lambda device=None: (9, 0))
    patches.set(cuda, "get_device_name", lambda device=None: PROPERTIES.name)
    patches.set(cuda, "get_arch_list", lambda: ["sm_90"])
    patches.set(cuda, "is_bf16_supported", lambda including_emulation=True: True)
    patches.set(cuda, "_cached_device_count", 1)
    patches.set(cuda, "_exchange_device", lambda index: 0)
    patches.set(cuda, "_maybe_exchange_device", lambda index: 0)
    patches.set(torch.backends.cudnn, "is_acceptable", lambda tensor: False)
    patches.set(cuda.nvtx, "_nvtx", _Nvtx())
    patches.set(torch, "Generator", VirtualGenerator)
    patches.set(torch, "get_device_module", lambda device=None: torch.cuda)
    patches.set(torch.version, "cuda", torch.version.cuda or "13.0")


def _fill(patches: Patches, base: Any, primitives: type) -> None:
    for name, value in vars(primitives).items():
        if name not in (
            "__dict__",
            "__weakref__",
            "__doc__",
            "__module__",
            "__annotations__",
            "__qualname__",
        ):
            patches.set(base, name, value)


def _set_stream(stream_id: int, device_index: int = 0, device_type: int = DEVICE_TYPE) -> None:
    device().current = device().stream(stream_id)


def _current_stream(index: int = 0) -> tuple[int, int, int]:
    return (device().current.number, 0, DEVICE_TYPE)


def _default_stream(index: int = 0) -> tuple[int, int, int]:
    return (0, 0, DEVICE_TYPE)


def _is_capturing() -> bool:
    return device().current.capture is not None


def _pool_handle() -> tuple[int, int]:
    return (0, next(device().pools))


def _set_sync_debug(mode: int) -> None:
    device().sync_debug = int(mode)


def _set_device(index: int) -> None:
    if index not in (0, -1):
        raise torch.AcceleratorError("CUDA error: invalid device ordinal")


def _from_external(pointer: int, index: int) -> tuple[int, int, int]:
    return (StreamBase(stream_ptr=pointer).stream_id, 0, DEVICE_TYPE)


def _empty_cache() -> None:
    empty_cache()


class _Nvtx:
    """Ranges and marks that nobody looks at."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: 0


class _Cudart:
    """The part of the CUDA runtime that torch hands on to programs."""

    class cudaError:
        success = 0

    def cudaMemGetInfo(self, index: int = 0) -> tuple[int, int]:
        free = DEVICE_BYTES - device_memory().allocator.reserved
        return (free, DEVICE_BYTES)

    def cudaGetErrorString(self, code: int) -> str:
        return f"error {code}"

    def cudaProfilerStart(self) -> int:
        device().unsafe()
        return 0

    def cudaProfilerStop(self) -> int:
        device().unsafe()
        return 0


CUDART = _Cudart()

_FUNCTIONS: dict[str, Any] = {
    "_has_cuda": True,
    "_cuda_init": lambda: None,
    "_cuda_getDeviceCount": lambda: 1,
    "_cuda_getDevice": lambda: 0,
    "_cuda_setDevice": _set_device,
    "_cuda_exchangeDevice": lambda index: 0,
    "_cuda_maybeExchangeDevice": lambda index: 0,
    "_cuda_isInBadFork": lambda: False,
    "_cuda_getArchFlags": lambda: "sm_90",
    "_cuda_getCompiledVersion": lambda: 13000,
    "_cuda_canDeviceAccessPeer": lambda first, second: False,
    "_cuda_setStream": _set_stream,
    "_cuda_getCurrentStream": _current_stream,
    "_cuda_getCurrentRawStream": lambda index=0: device().current.handle,
    "_cuda_getDefaultStream": _default_stream,
    "_cuda_getStreamFromExternal": _from_external,
    "_cuda_synchronize": lambda: device().synchronize(),
    "_cuda_sleep": lambda cycles: None,
    "_cuda_ipc_collect": lambda: None,
    "_cuda_isCurrentStreamCapturing": _is_capturing,
    "_graph_pool_handle": _pool_handle,
    "_cuda_emptyCache": _empty_cache,
    "_host_emptyCache": lambda: None,
    "_cuda_clearCublasWorkspaces": lambda: None,
    "_cuda_getCurrentBlasHandle": lambda: 1,
    "_cuda_getCurrentSolverHandle": lambda: 1,
    "_cuda_set_sync_debug_mode": _set_sync_debug,
    "_cuda_get_sync_debug_mode": lambda: device().sync_debug,
    **statistics.FUNCTIONS,
}
