"""Where every operation of ATen arrives: decide whether it is the device's, and do, record or refuse it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from graphlint.sentinel.virtual import autocast, calls, compiling, custom, errors, libraries, refusals
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.operations import Traits, aten, traits
from graphlint.sentinel.virtual.recording import assemble, predict, record, record_draw, refuse_if_missing
from graphlint.sentinel.virtual.rng import Seeded, mixed, philox_of
from graphlint.sentinel.virtual.tape import flat_tensors, map_tensors
from graphlint.sentinel.virtual.tensors import CPU, adopt, is_virtual, place
from graphlint.sentinel.virtual.transfers import copy_into, download, upload

# They work element by element and yet take no number on the host.
_TAKES_NO_HOST_NUMBERS = {
    "addcdiv",
    "clamp",
    "clamp_max",
    "clamp_min",
    "gcd",
    "igamma",
    "igammac",
    "lcm",
    "logaddexp",
    "logaddexp2",
    "nextafter",
}
# Their indices may lie on the host, as may the value of the last two.
_TAKES_HOST_INDICES = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
# They take a number as a tensor of no dimension wherever it lies.
_TAKES_HOST_NUMBERS = {
    "masked_fill",
    "masked_fill_",
    "fill_",
    "fill",
    "scatter",
    "where",
    "index_fill",
    "index_fill_",
}
# Some of their arguments lie on the host.
_TAKES_HOST_TENSORS = {"set_", "resize_as_", "_pack_padded_sequence", "_pad_packed_sequence", "_ctc_loss"}
_ONLY_ON_HOST = {
    "histogram",
    "_histogramdd_bin_edges",
    "_histogramdd_from_bin_cts",
    "_histogramdd_from_bin_tensors",
}
_READS_ON_HOST = {aten._local_scalar_dense.default}


@contextmanager
def modes() -> Iterator[None]:
    """Have this thread's calls and operations go to the device."""
    with calls.CallMode(), DeviceMode():
        yield


class DeviceMode(TorchDispatchMode):
    """Makes the operations of this thread go through `run`."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing of dynamo here: to be kept out of it would cost every operation a call

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunction():
            return run(function, args, kwargs or {})


def run(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """One operation."""
    if not isinstance(function, torch._ops.OpOverload):
        return custom.run_higher_order(function, args, kwargs)
    known = traits(function)
    tensors = flat_tensors(args)
    if kwargs:
        tensors += flat_tensors(kwargs)
    on_device = [tensor for tensor in tensors if is_virtual(tensor)]
    compiling.check_overwritten(tensors)
    if not on_device:
        return _without_device_tensors(known, function, args, kwargs, tensors)
    if known.composite:
        with modes():
            return function.decompose(*args, **kwargs)
    if known.name == "_foreach_copy_" and len(on_device) < len(tensors):
        return [run(aten.copy_.default, pair, {}) for pair in zip(args[0], args[1])]
    if known.name in ("copy_", "_to_copy"):
        return _copy(known, function, args, kwargs)
    if len(on_device) < len(tensors):
        _check_devices(known, tensors, args)
    if known.like and _wanted_on_host(kwargs):
        return function(*args, **kwargs)
    return run_on_device(known, function, args, _with_cpu(kwargs))


def run_on_device(known: Traits, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operation whose results belong to the device."""
    if known.name.startswith("quantize_per_"):
        errors.refuse("quantized tensors")
    if known.name in _ONLY_ON_HOST:
        raise NotImplementedError(
            f"Could not run 'aten::{known.name}' with arguments from the 'CUDA' backend."
        )
    if known.custom:
        return custom.run(known, function, args, kwargs)
    if known.view:
        return function(*args, **kwargs)
    if known.name in autocast.INNER and not known.writes and calls.casts():
        args, kwargs = map_tensors(_widen, args), map_tensors(_widen, kwargs)
    if known.metadata:
        return _change_metadata(known, function, args, kwargs)
    if known.name == "_pack_padded_sequence":
        return _pack(function, args)
    stream = device().current
    if stream.capture is not None:
        refusals.check(known.name, function._overloadname, args, kwargs, stream.capture)
    elif device().sync_debug and refusals.waits(known.name, function._overloadname, args, kwargs):
        device().note_synchronisation()
    libraries.need(known.name, args, stream.capture)
    if known.writes and kwargs:
        _outs_of_right_shape(known, function, args, kwargs)
    if function in _READS_ON_HOST or known.name in refusals.WAITING:
        device().wait_for(stream)
        return _now(known, function, args, kwargs)
    if known.random:
        return _random(known, function, args, kwargs)
    if known.name.startswith(("empty", "new_empty")):
        return map_tensors(place, predict(function, args, kwargs))
    if stream.capture is not None or stream.deferring:
        return record(known, function, args, kwargs)
    return _now(known, function, args, kwargs)


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    if not (autocast.is_low(tensor) and is_virtual(tensor)):
        return tensor
    widened: torch.Tensor = run(aten._to_copy.default, (tensor,), {"dtype": torch.float32})
    return widened


def _now(known: Traits, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    stream = device().current
    stream.issued, stream.used = stream.issued + 1, True
    try:
        returned = function(*args, **kwargs)
    except NotImplementedError as error:
        refuse_if_missing(function, error)
        raise
    except RuntimeError as error:
        if "resize storage that is not resizable" not in str(error):
            raise
        return _into_larger(known, function, args, kwargs)
    if isinstance(returned, torch.Tensor):
        return returned if is_virtual(returned) else adopt(returned)
    return map_tensors(_owned, returned)


def _outs_of_right_shape(known: Traits, function: Any, args: Any, kwargs: dict[str, Any]) -> None:
    """An empty `out=` takes the shape of the result."""
    outs = [kwargs[name] for _, name in known.writes if name in kwargs]
    if not any(isinstance(out, torch.Tensor) and not out.numel() for out in outs):
        return
    for out, wanted in zip(outs, flat_tensors(predict(function, args, kwargs))):
        if out.size() != wanted.size():
            _change_metadata(
                traits(aten.resize_.default), aten.resize_.default, (out, list(wanted.size())), {}
            )


def _into_larger(known: Traits, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """With `out=` of another shape than the result: computed elsewhere, and put into new memory of `out`."""
    written = {name: kwargs[name] for _, name in known.writes if name in kwargs}
    elsewhere = {name: torch.empty(0, dtype=out.dtype) for name, out in written.items()}
    function(*args, **(kwargs | elsewhere))
    for name, out in written.items():
        result = elsewhere[name]
        _change_metadata(traits(aten.resize_.default), aten.resize_.default, (out, list(result.size())), {})
        out.copy_(result)
    return written[next(iter(written))] if len(written) == 1 else tuple(written.values())


def _pack(function: Any, args: Any) -> Any:
    """The sizes of the batches stay on the host, where the lengths are."""
    data, lengths, batch_first = args
    _, sizes = function(torch.zeros_like(data), lengths, batch_first)
    if device().current.capture is None:
        return adopt(function(data, lengths, batch_first)[0]), sizes
    packed, _ = record(traits(function), function, args, {})
    return packed, sizes


def _owned(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if is_virtual(tensor) else adopt(tensor)


def _without_device_tensors(
    known: Traits, function: Any, args: Any, kwargs: dict[str, Any], tensors: Any
) -> Any:
    wanted = kwargs.get("device")
    if wanted is not None and torch.device(wanted).type == "cuda":
        if known.name == "_to_copy":
            return _moved(upload(args[0], bool(kwargs.get("non_blocking"))), function, kwargs)
        return run_on_device(known, function, args, _with_cpu(kwargs))
    if known.factory and calls.making_for_device(known.like):
        return run_on_device(known, function, args, _with_cpu(kwargs))
    return function(*args, **kwargs)


def _with_cpu(kwargs: dict[str, Any]) -> dict[str, Any]:
    if kwargs.get("device") is None:
        return kwargs
    return kwargs | {"device": CPU}


def _wanted_on_host(kwargs: dict[str, Any]) -> bool:
    wanted = kwargs.get("device")
    return wanted is not None and torch.device(wanted).type == "cpu" and calls.asked_for_host()


def _copy(known: Traits, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if known.name == "_to_copy":
        if _wanted_on_host(kwargs):
            return _moved(download(args[0], bool(kwargs.get("non_blocking"))), function, kwargs)
        return run_on_device(known, function, args, _with_cpu(kwargs))
    target, source = args[0], args[1]
    if is_virtual(target) and is_virtual(source):
        return run_on_device(known, function, args, kwargs)
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    return copy_into(target, source, bool(non_blocking))


def _moved(tensor: torch.Tensor, function: Any, kwargs: dict[str, Any]) -> Any:
    rest = {
        key: value for key, value in kwargs.items() if key not in ("device", "non_blocking", "pin_memory")
    }
    return run(function, (tensor,), rest) if any(value is not None for value in rest.values()) else tensor


def _check_devices(known: Traits, tensors: list[torch.Tensor], args: Any) -> None:
    for tensor in tensors:
        if is_virtual(tensor):
            continue
        if not tensor.dim() and _takes_host_number(known):
            continue
        if known.name in _TAKES_HOST_INDICES and tensor is not args[0]:
            continue
        if known.custom or known.name in _TAKES_HOST_TENSORS:
            continue
        if known.name == "cat":
            raise RuntimeError(
                "Expected all tensors to be on the same device, but got tensors is on cpu, different from "
                "other tensors on cuda:0 (when checking argument in method wrapper_CUDA_cat)"
            )
        raise RuntimeError(errors.TWO_DEVICES)


def _takes_host_number(known: Traits) -> bool:
    if known.elementwise:
        return known.name.removesuffix("_") not in _TAKES_NO_HOST_NUMBERS
    return known.name in _TAKES_HOST_NUMBERS


def _change_metadata(known: Traits, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if known.name != "resize_":
        return function(*args, **kwargs)
    tensor, shape = args[0], args[1]
    wanted = torch.empty(shape, dtype=tensor.dtype, device="meta")
    if wanted.numel() <= tensor.numel():
        return function(*args, **kwargs)
    larger = place(wanted)
    run(aten.copy_.default, (larger.view(-1)[: tensor.numel()], tensor.reshape(-1)), {})
    return tensor.set_(larger.untyped_storage(), 0, wanted.size(), wanted.stride())


def _random(known: Traits, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    stream = device().current
    chosen = kwargs.get("generator")
    philox = philox_of(chosen) if chosen is not None else device().generator.philox
    if philox is None:
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    if stream.capture is None and device().captures and not known.writes:
        map_tensors(place, predict(function, args, kwargs))  # memory is asked for before the numbers
    seeded = Seeded(function, kwargs, known.takes_generator)
    offset = philox.draw(stream.capture)
    if stream.capture is not None or stream.deferring:
        return record_draw(known, function, args, kwargs, seeded, philox, offset)
    returned = map_tensors(_owned, seeded(mixed(philox.seed, offset), args))
    return assemble(known, function, args, kwargs, returned)
