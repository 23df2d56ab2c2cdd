"""The build lists every package, and the links that static tools follow are there."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = SETTINGS["tool"]["setuptools"]


def packages_on_disk() -> set[str]:
    found = set()
    for top, name in (
        ("graphlint", "graphlint"),
        ("rules", "graphlint.rules"),
        ("sentinel", "graphlint.sentinel"),
    ):
        for marker in (ROOT / top).rglob("__init__.py"):
            inner = marker.parent.relative_to(ROOT / top).parts
            if inner[:1] not in (("rules",), ("sentinel",)) or top != "graphlint":
                found.add(".".join((name, *inner)))
    return found


def test_every_package_is_in_the_wheel() -> None:
    assert set(SETUPTOOLS["packages"]) == packages_on_disk()


def test_every_profile_is_in_the_wheel() -> None:
    listed = SETUPTOOLS["package-data"]["graphlint.profiles"]
    found = {file for pattern in listed for file in (ROOT / "graphlint" / "profiles").glob(pattern)}
    assert {file.stem for file in found} >= {"flashinfer", "megatron", "sglang", "transformers", "vllm"}


def test_folders_with_modules_are_packages() -> None:
    listed = {
        ROOT / SETUPTOOLS["package-dir"].get(name, name.replace(".", "/")) for name in packages_on_disk()
    }
    modules = [*ROOT.glob("graphlint/**/*.py"), *ROOT.glob("rules/**/*.py"), *ROOT.glob("sentinel/**/*.py")]
    assert {module.parent.resolve() for module in modules} <= listed


@pytest.mark.parametrize("name", ["rules", "sentinel"])
def test_links_lead_to_the_folders_at_the_top(name: str) -> None:
    link = ROOT / "graphlint" / name
    if not link.is_symlink():
        pytest.skip("a checkout or an archive without links")
    assert link.resolve() == ROOT / name


def test_no_file_names_the_folders_at_the_top_as_modules() -> None:
    """`import rules` works by accident where the working folder is on the path."""
    accident = re.compile(r"^\s*(from|import) (rules|sentinel)\b", re.MULTILINE)
    files = [
        path for top in ("graphlint", "rules", "sentinel", "tests") for path in (ROOT / top).rglob("*.py")
    ]
    assert [path for path in files if accident.search(path.read_text(encoding="utf-8"))] == []


def test_the_linter_does_not_import_torch() -> None:
    """Only the runtime half may, and the linter must run where torch is not installed."""
    imports_torch = re.compile(r"^\s*(from|import) torch\b", re.MULTILINE)
    files = [*ROOT.glob("graphlint/**/*.py"), *ROOT.glob("rules/**/*.py")]
    outside = [path for path in files if "sentinel" not in path.parts]
    assert [path for path in outside if imports_torch.search(path.read_text(encoding="utf-8"))] == []


def test_pytest_finds_the_plugin() -> None:
    (module,) = SETTINGS["project"]["entry-points"]["pytest11"].values()
    assert hasattr(importlib.import_module(module), "pytest_addoption")


def test_runtime_dependencies_are_the_four_of_the_linter() -> None:
    names = {re.split(r"[><=; ]", entry)[0] for entry in SETTINGS["project"]["dependencies"]}
    assert names == {"click", "libcst", "pathspec", "rich", "tomli"}
