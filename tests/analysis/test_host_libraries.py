"""Functions of the host's libraries, and methods of what they return, lead somewhere; their values say nothing."""

from __future__ import annotations

import pytest

from tests.programs import captured, check_marks, regions, unresolved, with_region


@pytest.mark.parametrize(
    ("definitions", "region"),
    [
        ("import re\nNAME = re.compile('a+')", "found = NAME.fullmatch(unknown)\nfound.group(1).lower()"),
        ("import hashlib", "hashlib.sha256(unknown).hexdigest().startswith('a')"),
        ("import json", "json.loads(unknown).get('a')"),
        ("from pathlib import Path", "(Path('a') / unknown / 'b').resolve().is_file()"),
        ("from pathlib import Path\nclass Home:\n    folder: Path", "Home().folder.exists()"),
        ("import subprocess", "subprocess.run(['a']).stdout.strip()"),
        ("import platform", "platform.machine().lower()"),
        ("", "with open(unknown) as file:\n    file.read()"),
        ("", "for part in unknown:\n    part.startswith('a')\n    (part + 'b').removeprefix('c')"),
        ("", "unknown.rpartition('a')[0].lower()"),
        ("import logging\nclass Log(logging.Logger):\n    pass", "Log('a').info('b')"),
        ("import triton", "triton.cdiv(x.shape[0], 4) + triton.next_power_of_2(unknown)"),
        ("import ctypes\nlib = ctypes.CDLL('a')", "lib.launch(x.data_ptr())"),
        (
            "from cuda.bindings import runtime as rt",
            "error, status, _, graph, *_ = rt.cudaStreamGetCaptureInfo(unknown)\n"
            "rt.cudaGraphConditionalHandleCreate(graph, 0, 0)",
        ),
    ],
)
def test_calls_of_host_libraries_are_followed(definitions: str, region: str) -> None:
    program = with_region(definitions, region)
    check_marks(program)
    assert unresolved(program) == set()


def test_native_code_is_known_to_be_native_only_by_its_owner() -> None:
    program = with_region("import tvm_ffi", "tvm_ffi.load_module('a').run(x)\nunknown.run(x)")
    assert unresolved(program) == {"unknown.run(x)"}


def test_sizes_that_triton_computes_are_numbers() -> None:
    """What the sizes decide is decided."""
    check_marks(
        with_region(
            "import triton", "if triton.cdiv(9, 4) != 3 or triton.next_power_of_2(5) != 8:\n    x.item()"
        )
    )


def test_a_folder_without_an_init_file_is_a_package() -> None:
    program = {
        "top/__init__.py": "",
        "top/inner/parts.py": "def run(x):\n    return x + 1\n",
        "main.py": with_region("from top.inner import parts", "parts.run(x)"),
    }
    assert "run" in captured(program)


JOINTS = {
    "joints.py": """
from abc import ABC, abstractmethod
import torch


class Joint(torch.nn.Module, ABC):
    @abstractmethod
    def join(self, x): ...


class Sum(Joint):
    def join(self, x):
        return x.sum()
""",
    "decoder.py": """
import torch
from joints import Joint


class Decoder:
    def __init__(self, joint: Joint):
        self.joint = joint
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        self.joint.join(self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.joint.join(self.x)
""",
}


def test_subclasses_that_configurations_name_stand_for_an_abstract_class() -> None:
    assert "Sum.join" in captured(JOINTS)
    assert all(not region.unresolved for region in regions(JOINTS))


def test_subclasses_that_nobody_makes_do_not_count_beside_one_that_is_made() -> None:
    made = {**JOINTS, "main.py": "from joints import Joint\n\n\nclass Max(Joint):\n    def join(self, x):\n"
            "        return x.max()\n\n\nmade = Max()\n"}  # fmt: skip
    assert "Max.join" in captured(made)
    assert "Sum.join" not in captured(made)
