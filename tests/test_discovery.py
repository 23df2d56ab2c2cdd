"""Which files a run is about."""

from __future__ import annotations

import os
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlint.discovery import discover


def make(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def shown(*paths: str | Path, exclude: tuple[str, ...] = (), root: Path | None = None) -> list[str]:
    return [file.shown for file in discover(paths or (".",), exclude=exclude, root=root).files]


def test_python_files_below_the_folder_in_order(project: Path) -> None:
    make(project, "b.py", "a/c.py", "a/b.txt", "a/data.pyc", "a-b.py")
    assert shown() == ["a-b.py", "a/c.py", "b.py"]


def test_default_excludes_are_left_out_below_and_taken_when_named(project: Path) -> None:
    make(project, ".venv/x.py", "build/y.py", "node_modules/z.py", "pkg/__pycache__/w.py", "pkg/ok.py")
    assert shown() == ["pkg/ok.py"]
    assert shown("build") == ["build/y.py"]


def test_a_file_called_like_an_excluded_folder_is_taken(project: Path) -> None:
    make(project, "build.py", "dist.py")
    assert shown() == ["build.py", "dist.py"]


def test_nested_gitignore_files_have_the_last_word(project: Path) -> None:
    make(project, ".gitignore", text="*_gen.py\n/top.py\nskipped/\n[\n")
    make(project, "pkg/.gitignore", text="!kept_gen.py\n")
    make(project, "top.py", "pkg/top.py", "x_gen.py", "pkg/kept_gen.py", "pkg/y_gen.py", "skipped/z.py")
    assert shown() == ["pkg/kept_gen.py", "pkg/top.py"]


def test_gitignore_above_a_named_folder_counts_inside_the_repository(project: Path) -> None:
    (project / ".git").mkdir()
    make(project, ".gitignore", text="*_gen.py\nscratch/\n")
    make(project, "pkg/a_gen.py", "pkg/a.py", "scratch/b.py", "scratch/b_gen.py")
    assert shown("pkg") == ["pkg/a.py"]
    assert shown("scratch") == ["scratch/b.py", "scratch/b_gen.py"]


def test_exclude_patterns_are_meant_from_the_root(project: Path) -> None:
    make(project, "a/gen/x.py", "a/y.py", "gen/z.py")
    assert shown("a", "gen", exclude=("/a/gen/",), root=project) == ["a/y.py", "gen/z.py"]


def test_named_files_are_always_taken(project: Path) -> None:
    make(project, ".gitignore", text="*\n")
    make(project, "a.py", "script", ".venv/b.py")
    found = discover(["a.py", "script", ".venv/b.py"], exclude=("*.py",), root=project)
    assert [(file.shown, file.named) for file in found.files] == [
        (".venv/b.py", True),
        ("a.py", True),
        ("script", True),
    ]


def test_named_and_found_are_told_apart(project: Path) -> None:
    make(project, "a.py", "b.py")
    found = discover([".", "a.py"])
    assert [(file.shown, file.named) for file in found.files] == [("a.py", True), ("b.py", False)]


def test_a_missing_path_is_a_problem_and_the_rest_is_found(project: Path) -> None:
    make(project, "a.py")
    found = discover(["absent", "a.py"])
    assert [(problem.path, problem.reason) for problem in found.problems] == [("absent", "does not exist")]
    assert [file.shown for file in found.files] == ["a.py"]


def test_a_pipe_is_never_opened(project: Path) -> None:
    os.mkfifo(project / "pipe.py")
    assert shown() == []
    assert discover(["pipe.py"]).problems[0].reason == "is not a file or folder"


def test_a_file_met_through_a_link_appears_once_under_its_real_path(project: Path) -> None:
    make(project, "rules/a.py", "pkg/b.py")
    (project / "pkg/rules").symlink_to("../rules")
    assert shown() == ["pkg/b.py", "rules/a.py"]
    assert shown("pkg", root=project) == ["pkg/b.py", "rules/a.py"]


def test_links_in_a_circle_end(project: Path) -> None:
    make(project, "pkg/a.py")
    (project / "pkg/self").symlink_to(".")
    (project / "pkg/up").symlink_to("..")
    (project / "pkg/knot.py").symlink_to("knot.py")
    assert shown() == ["pkg/a.py"]


def test_a_link_out_of_the_project_is_not_followed(project: Path) -> None:
    with TemporaryDirectory() as elsewhere:
        make(Path(elsewhere), "foreign.py")
        (project / "link").symlink_to(elsewhere)
        assert shown(root=project) == []


def test_a_broken_link_is_a_problem_unless_an_editor_made_it(project: Path) -> None:
    make(project, "a.py")
    (project / "gone.py").symlink_to("nowhere.py")
    (project / ".#a.py").symlink_to("user@host.1:2")
    found = discover()
    assert [(problem.path, problem.reason) for problem in found.problems] == [
        ("gone.py", "is a link that leads nowhere")
    ]
    assert [file.shown for file in found.files] == ["a.py"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_is_a_problem(project: Path) -> None:
    make(project, "closed/a.py", "b.py")
    (project / "closed").chmod(0)
    try:
        found = discover()
    finally:
        (project / "closed").chmod(0o755)
    assert [problem.path for problem in found.problems] == ["closed"]
    assert [file.shown for file in found.files] == ["b.py"]


def test_a_failing_listing_is_a_problem(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(project, "closed/a.py", "b.py")
    listing = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return listing(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = discover()
    assert [(problem.path, problem.reason) for problem in found.problems] == [
        ("closed", "cannot be listed: Permission denied")
    ]
    assert [file.shown for file in found.files] == ["b.py"]


def test_files_outside_the_working_folder_are_shown_in_full(project: Path) -> None:
    make(project, "inner/.keep", "a.py")
    os.chdir(project / "inner")
    assert shown(project) == [(project / "a.py").as_posix()]


def test_very_deep_folders_are_walked(project: Path) -> None:
    deep = project.joinpath(*["d"] * 600)
    deep.mkdir(parents=True)
    (deep / "a.py").touch()
    assert len(shown()) == 1


NAMES = st.sampled_from(["a", "b", "build", "pkg", "rules"])
TREES = st.lists(st.lists(NAMES, min_size=1, max_size=3), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(tree=TREES, seed=st.integers(0, 1000))
def test_neither_the_order_of_paths_nor_their_repetition_matters(tree: list[list[str]], seed: int) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for index, parts in enumerate(tree):
            make(root, "/".join([*parts, f"m{index}.py"]))
        if not (root / tree[0][0] / "link").exists():
            (root / tree[0][0] / "link").symlink_to(root / tree[-1][0])
        paths = [root, *(root.joinpath(*parts) for parts in tree)]
        shuffled = random.Random(seed).sample(paths, len(paths)) + paths[:1]
        assert discover(paths, root=root) == discover(shuffled, root=root)
