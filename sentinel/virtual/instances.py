"""Instances of classes of torch's extension module, made without its constructors, which ask the driver.

On a build of torch for the CPU these classes are Python's, on one for CUDA they are C++'s: streams and events
have constructors that cannot be replaced, and graphs are of a kind that insists on its own. Methods and
attributes then come from what `namespace` sets on the classes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_allocate = ctypes.pythonapi.PyType_GenericAlloc
_allocate.restype, _allocate.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]

GRAPH = torch.cuda.CUDAGraph
_BOUND_BY_PYBIND = type(GRAPH) is not type
_new_graph = torch._C._CUDAGraph.__new__ if _BOUND_BY_PYBIND else object.__new__


def bare(kind: type) -> Any:
    """An instance whose C++ part is all zero, which is how it is before construction and after a move."""
    return _allocate(kind, 0)


def bare_graph(kind: type) -> Any:
    """An instance of a class of graphs; its C++ part is empty."""
    return _new_graph(kind)


@contextmanager
def graphs_without_cpp() -> Iterator[None]:
    """Classes bound by pybind refuse instances whose C++ part was not constructed; not so in here."""
    if not _BOUND_BY_PYBIND:
        yield
        return
    plain = type(GRAPH)

    class CUDAGraphType(plain):  # type: ignore[misc, valid-type]
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return type.__call__(cls, *args, **kwargs)

    kinds = _with_subclasses(GRAPH)
    for kind in kinds:
        kind.__class__ = CUDAGraphType
    try:
        yield
    finally:
        for kind in _with_subclasses(GRAPH):
            kind.__class__ = plain


def _with_subclasses(kind: Any) -> list[Any]:
    return [kind, *(found for child in type.__subclasses__(kind) for found in _with_subclasses(child))]
