"""`torch.compile`: the function runs uncompiled and says so once. What programs rely on besides speed is
kept.

Compiling for the first time inside a capture fails as it does with inductor, compiling again for another
shape does not. `mode="reduce-overhead"` returns memory that the next run overwrites: reading an overwritten
output raises what torch raises.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from graphlint.sentinel.virtual import errors
from graphlint.sentinel.virtual.device import device
from graphlint.sentinel.virtual.tape import flat_tensors, map_tensors

_SAID = "torch.compile: on the virtual CUDA device the function runs uncompiled"
_OVERWRITTEN = (
    "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. To prevent "
    "overwriting, clone the tensor outside of torch.compile() or call "
    "torch.compiler.cudagraph_mark_step_begin() before each model invocation."
)


def compile_(
    model: Any = None, *, backend: Any = "inductor", mode: str | None = None, options: Any = None, **rest: Any
) -> Any:
    """Stands for `torch.compile`."""
    if model is None:
        return functools.partial(compile_, backend=backend, mode=mode, options=options, **rest)
    if rest.get("disable"):
        return model
    graphs = mode in ("reduce-overhead", "max-autotune") or bool((options or {}).get("triton.cudagraphs"))
    inductor = backend == "inductor"
    if isinstance(model, nn.Module):
        return CompiledModule(model, graphs and inductor, inductor)
    run = Compiled(model, graphs and inductor, inductor)

    @functools.wraps(model)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    compiled._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    return compiled


class Compiled:
    """One compiled callable: what it has been compiled for, and its graphs."""

    def __init__(self, function: Callable[..., Any], graphs: bool, inductor: bool) -> None:
        self._function = function
        self._graphs = graphs
        self._inductor = inductor
        self._seen: dict[Any, Overwriting] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = _signature(args, kwargs)
        if key not in self._seen:
            self._compile(key)
        if not self._graphs or (torch.is_grad_enabled() and _needs_grad(args, self._function)):
            return self._function(*args, **kwargs)
        return self._seen[key](self._function, args, kwargs)

    def _compile(self, key: Any) -> None:
        if "compile" not in device().warm:
            device().warm.add("compile")
            warnings.warn(_SAID, stacklevel=4)
        if self._inductor and not self._seen and device().current.capture is not None:
            _fail_to_compile()
        self._seen[key] = Overwriting()


class CompiledModule(nn.Module):
    """Stands for torch's `OptimizedModule`."""

    def __init__(self, module: nn.Module, graphs: bool, inductor: bool) -> None:
        super().__init__()
        self._orig_mod = module
        self._run = Compiled(module, graphs, inductor)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)


class Overwriting:
    """The graph of one signature: run, recorded, then replayed into the same outputs."""

    def __init__(self) -> None:
        self._runs = 0
        self._graph: Any = None
        self._inputs: list[torch.Tensor] = []
        self._outputs: Any = None
        self._handed: list[weakref.ref[torch.Tensor]] = []

    def __call__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if device().current.capture is not None:
            raise RuntimeError(errors.REPLAY_IN_CAPTURE)
        self._runs += 1
        if self._runs == 1:
            return function(*args, **kwargs)
        given = flat_tensors([args, kwargs])
        if self._graph is None:
            self._record(function, args, kwargs)
        for static, tensor in zip(self._inputs, given):
            static.copy_(tensor)
        self._graph.replay()
        return self._handed_out()

    def _record(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        statics = iter(self._inputs)
        self._inputs.extend(tensor.clone() for tensor in flat_tensors([args, kwargs]))
        args, kwargs = (
            map_tensors(lambda _: next(statics), args),
            map_tensors(lambda _: next(statics), kwargs),
        )
        self._graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(self._graph, stream=torch.cuda.Stream()):
            self._outputs = function(*args, **kwargs)

    def _handed_out(self) -> Any:
        for reference in self._handed:
            kept = reference()
            if kept is not None:
                mark_overwritten(kept)
        outputs = tree_map_only(torch.Tensor, lambda tensor: tensor.detach(), self._outputs)
        self._handed = [weakref.ref(tensor) for tensor in flat_tensors(outputs)]
        return outputs


_overwritten: dict[int, weakref.ref[torch.Tensor]] = {}


def mark_overwritten(tensor: torch.Tensor) -> None:
    """Reading this tensor object is an error from now on."""
    number = id(tensor)
    _overwritten[number] = weakref.ref(tensor, lambda _: _overwritten.pop(number, None))


def check_overwritten(tensors: list[torch.Tensor]) -> None:
    """Raise if one of them was handed out by an earlier run of a compiled function."""
    if _overwritten and any(id(tensor) in _overwritten for tensor in tensors):
        raise RuntimeError(_OVERWRITTEN)


def _signature(args: Any, kwargs: Any) -> Any:
    tensors = flat_tensors([args, kwargs])
    return tuple((tuple(tensor.shape), tensor.dtype) for tensor in tensors)


def _needs_grad(args: Any, function: Any) -> bool:
    parameters = list(function.parameters()) if isinstance(function, nn.Module) else []
    return any(tensor.requires_grad for tensor in [*flat_tensors(list(args)), *parameters])


def _fail_to_compile() -> None:
    from torch._dynamo.exc import BackendCompilerFailed

    try:
        device().pageable_copy()
    except RuntimeError as error:
        failure = BackendCompilerFailed.__new__(BackendCompilerFailed)
        RuntimeError.__init__(failure, f"backend='inductor' raised:\n{type(error).__name__}: {error}")
        raise failure from error
