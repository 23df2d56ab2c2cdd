"""Triton kernels, where Triton is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sentinel.capturing import capture

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def increment(x, by, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + by, mask=at < n)
"""


@pytest.fixture
def increment(cuda: Any, tmp_path: Path) -> Any:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    file = tmp_path / "kernels.py"
    file.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("graphlint_test_kernels", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.increment


def test_a_kernel_runs(increment: Any) -> None:
    import torch

    x = torch.zeros(6, device="cuda")
    increment[(2,)](x[1:], 2.0, 5, BLOCK=4)
    assert x.tolist() == [0, 2, 2, 2, 2, 2]


def test_a_kernel_is_recorded_with_its_arguments(increment: Any) -> None:
    import torch

    x, by = torch.zeros(4, device="cuda"), [1.0]
    graph, _ = capture(lambda: increment[(1,)](x, by[0], 4, BLOCK=4))
    assert x.tolist() == [0, 0, 0, 0]
    by[0] = 5.0
    graph.replay()
    graph.replay()
    assert x.tolist() == [2, 2, 2, 2]


def test_a_kernel_does_not_take_tensors_of_the_host(increment: Any) -> None:
    import torch

    with pytest.raises(ValueError, match="cpu tensor"):
        increment[(1,)](torch.zeros(4), 1.0, 4, BLOCK=4)
