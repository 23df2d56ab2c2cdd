"""Lists of tensors sorted by device: torch's C++ sees one device where the program sees two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from graphlint.sentinel.virtual.tensors import CPU, CUDA, is_virtual

Group = tuple[list[list[Any]], list[int]]


def by_device(plain: Callable[..., Any]) -> Callable[..., Any]:
    """`torch._C._group_tensors_by_device_and_dtype` that tells host and device apart."""

    def group(lists: list[list[Any]], with_indices: bool = False) -> dict[Any, Group]:
        groups: dict[Any, Group] = {}
        for (where, dtype), (columns, indices) in plain(lists, with_indices).items():
            for at, first in enumerate(columns[0]):
                key = (CUDA if _on_device(first) else CPU if where is not None else where, dtype)
                into, places = groups.setdefault(key, ([[] for _ in columns], []))
                for column, source in zip(into, columns):
                    if source:
                        column.append(source[at])
                if indices:
                    places.append(indices[at])
        return groups

    return group


def _on_device(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and is_virtual(tensor)
