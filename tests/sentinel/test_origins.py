"""Whose lines are shown, and whose state is looked at."""

from __future__ import annotations

import contextlib
import json
import sysconfig
from pathlib import Path
from types import CodeType

import pytest

pytest.importorskip("torch")

import torch

from graphlint.sentinel import session
from graphlint.sentinel.origins import has_own_state, is_of_torch, is_own_module, is_program

PACKAGE = str(Path(sysconfig.get_path("purelib")) / "engine" / "runner.py")


def code(file: str) -> CodeType:
    return compile("x = 1", file, "exec")


def test_lines_of_installed_packages_are_shown_and_their_state_is_left_alone() -> None:
    assert is_program(code(PACKAGE)) and not has_own_state(PACKAGE)


def test_the_program_has_both() -> None:
    assert is_program(code(__file__)) and has_own_state(__file__)


@pytest.mark.parametrize("module", [json, contextlib, torch, session, pytest])
def test_neither_of_python_torch_the_sentinel_and_test_runners(module: object) -> None:
    file = str(getattr(module, "__file__", ""))
    assert not is_own_module(module)  # type: ignore[arg-type]
    assert not is_program(code(file)) or module is pytest  # its own package calls nothing


def test_what_the_compiler_of_torch_has_written_is_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/caches/inductor")
    generated = "/caches/inductor/zn/czn24.py"
    assert is_of_torch(code(generated)) and not is_program(code(generated)) and not has_own_state(generated)
    assert is_program(code("/caches/inductor_mine.py"))


def test_code_without_a_file() -> None:
    assert is_program(code("<string>")) and not has_own_state("<string>")
    assert not is_program(code("<frozen runpy>"))
    assert not is_own_module(None)
