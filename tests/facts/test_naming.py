"""Dotted names of files, and which file an import means."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphlint.facts.names import Defined, External, Imported, resolve
from graphlint.facts.project import Project

from .conftest import MakeProject


def name_of(project: Project, path: str, root: Path) -> str:
    module = project.file(root / path)
    assert module is not None
    return module.name


def found(project: Project, dotted: str, importer: str = "") -> str | None:
    module = project.module(dotted, project.file(Path(importer)) if importer else None)
    return module.display if module else None


def test_packages_name_their_modules(project: MakeProject, tmp_path: Path) -> None:
    made = project({"src/p/__init__.py": "", "src/p/q/__init__.py": "", "src/p/q/m.py": "", "tool.py": ""})
    assert name_of(made, "src/p/q/m.py", tmp_path) == "p.q.m"
    assert name_of(made, "src/p/q/__init__.py", tmp_path) == "p.q"
    assert name_of(made, "tool.py", tmp_path) == "tool"
    assert found(made, "p.q.m") == "src/p/q/m.py"
    assert found(made, "p") == "src/p/__init__.py"
    assert found(made, "p.absent") is None


def test_a_package_hides_the_module_beside_it(project: MakeProject) -> None:
    made = project({"m.py": "import h", "h.py": "", "h/__init__.py": "", "p/h.py": "", "p/h/x.py": ""})
    assert found(made, "h", "m.py") == "h/__init__.py"
    assert found(made, "p.h") == "p/h.py"  # a folder without __init__.py hides nothing


def test_a_folder_without_init_inside_a_package_belongs_to_it(project: MakeProject, tmp_path: Path) -> None:
    made = project({"p/__init__.py": "", "p/gap/m.py": "from ..n import f", "p/n.py": ""})
    assert name_of(made, "p/gap/m.py", tmp_path) == "p.gap.m"
    assert found(made, "p.gap.m") == "p/gap/m.py"


def test_namespace_packages_are_found_by_path(project: MakeProject) -> None:
    made = project({"a/b/c.py": "", "a/d/__init__.py": "", "a/d/e.py": ""})
    assert found(made, "a.b.c") == "a/b/c.py"
    assert found(made, "a.d.e") == "a/d/e.py"
    assert found(made, "a.d") == "a/d/__init__.py"


def test_a_path_inside_a_package_is_no_root(project: MakeProject) -> None:
    made = project({"p/__init__.py": "", "p/torch/cuda.py": "", "p/m.py": ""})
    assert found(made, "torch.cuda", "p/m.py") is None


def test_of_equal_names_the_nearest_to_the_importer_wins(project: MakeProject) -> None:
    scripts = ["a/x.py", "a/util.py", "b/x.py", "b/util.py"]
    made = project(dict.fromkeys([*scripts, "one/n/m.py", "two/n/m.py", "two/z.py"], ""))
    assert found(made, "util", "a/x.py") == "a/util.py"
    assert found(made, "util", "b/x.py") == "b/util.py"
    assert found(made, "n.m", "two/z.py") == "two/n/m.py"


P = {"p/__init__.py": "", "p/m.py": ""}


def test_a_lone_script_does_not_stand_for_a_library(project: MakeProject) -> None:
    made = project(
        {"bench/triton.py": "", "bench/near.py": "", "bench/random.py": "", "p/__init__.py": "", "p/m.py": ""}
    )
    assert found(made, "triton", "p/m.py") is None
    assert found(made, "random", "p/m.py") is None
    assert found(made, "triton", "bench/near.py") == "bench/triton.py"


@pytest.mark.parametrize(
    ("path", "statement", "dotted"),
    [
        ("p/q/m.py", "from a.b import c", "a.b"),
        ("p/q/m.py", "from . import c", "p.q"),
        ("p/q/m.py", "from .n import c", "p.q.n"),
        ("p/q/m.py", "from ..n import c", "p.n"),
        ("p/q/__init__.py", "from . import c", "p.q"),
        ("p/q/__init__.py", "from .n import c", "p.q.n"),
        ("p/q/__init__.py", "from ..n import c", "p.n"),
    ],
)
def test_leading_dots_count_from_the_package(
    project: MakeProject, tmp_path: Path, path: str, statement: str, dotted: str
) -> None:
    files = {"p/__init__.py": "", "p/q/__init__.py": "", "p/q/m.py": ""}
    made = project({**files, path: statement})
    module = made.file(tmp_path / path)
    assert module is not None
    node = module.tree.body[0]
    assert isinstance(node, ast.ImportFrom)
    assert made.resolve_import(module, node) == dotted


def test_relative_imports_work_without_packages(project: MakeProject) -> None:
    imports = "from ..n import f\nfrom .k import g\nfrom . import k"
    modules = {"a/n.py": "def f(): pass", "a/b/k.py": "def g(): pass"}
    made = project({**modules, "a/b/m.py": imports, "a/b/n.py": "", "c/k.py": "", "c/n.py": ""})
    assert meanings(made, "a/b/m.py", "f") == ["a/n.py:f"]
    assert meanings(made, "a/b/m.py", "g") == ["a/b/k.py:g"]
    assert meanings(made, "a/b/m.py", "k") == ["module a/b/k.py"]


def meanings(project: Project, path: str, name: str) -> list[str]:
    module = project.file(Path(path))
    assert module is not None
    return [_said(meaning) for meaning in resolve(project, module, name)]


def _said(meaning: Defined | Imported | External) -> str:
    if isinstance(meaning, Defined):
        return f"{meaning.module.display}:{meaning.binding.name}"
    return f"module {meaning.module.display}" if isinstance(meaning, Imported) else meaning.dotted


PACKAGE = {
    "p/__init__.py": "from .core import Runner as R\nfrom .star import *",
    "p/core.py": "class Runner: pass",
    "p/star.py": "from .deep import *\n__all__ = ['a']\na = b = 1",
    "p/deep.py": "def c(): pass",
}


@pytest.mark.parametrize(
    ("statement", "name", "meaning"),
    [
        ("from p import R", "R", ["p/core.py:Runner"]),
        ("from p import R as S", "S", ["p/core.py:Runner"]),
        ("import p.core", "p", ["module p/__init__.py"]),
        ("import p.core as k", "k", ["module p/core.py"]),
        ("from p import core", "core", ["module p/core.py"]),
        ("from p import *", "R", ["p/core.py:Runner"]),
        ("from p.star import *", "a", ["p/star.py:a"]),
        ("from p.star import *", "b", []),
        ("from p.star import c", "c", ["p/deep.py:c"]),
        ("from torch.cuda import graph as g", "g", ["torch.cuda.graph"]),
        ("import torch.cuda", "torch", ["torch"]),
        ("import torch.cuda as tc", "tc", ["torch.cuda"]),
        ("from torch.cuda import *", "graph", ["torch.cuda.graph"]),
        (
            "try:\n  from p import R as x\nexcept ImportError:\n  x = None",
            "x",
            ["p/core.py:Runner", "m.py:x"],
        ),
        ("if A:\n  def x(): pass\nelse:\n  from q import x", "x", ["m.py:x", "q.x"]),
        ("", "x", []),
    ],
)
def test_names_are_followed_to_their_definitions(
    project: MakeProject, statement: str, name: str, meaning: list[str]
) -> None:
    assert meanings(project({**PACKAGE, "m.py": statement}), "m.py", name) == meaning


def test_circular_imports_end(project: MakeProject) -> None:
    made = project({"a.py": "from b import x\nfrom b import *", "b.py": "from a import x\nfrom a import *"})
    assert meanings(made, "a.py", "x") == []
    assert meanings(made, "a.py", "y") == []
