"""`[tool.graphlint]`: what it means, where it is found, and what is said about a broken one."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.config import Config, ConfigError, config_from, load_config


def write(folder: Path, text: str, name: str = "pyproject.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_without_a_table_every_rule_is_on(project: Path) -> None:
    config = load_config([project])
    assert config.is_enabled("CG301") and config.is_enabled("CG901")


def test_the_nearest_table_above_the_first_path_counts(project: Path) -> None:
    write(project, '[tool.graphlint]\nexclude = ["outer"]')
    write(project / "inner", '[tool.graphlint]\nexclude = ["inner"]')
    (project / "inner/deep").mkdir()
    config = load_config([project / "inner/deep/a.py", project])
    assert config.exclude == ("inner",)
    assert config.root == project / "inner"


def test_a_nearer_file_without_the_table_is_passed_over(project: Path) -> None:
    write(project, '[tool.graphlint]\nexclude = ["outer"]')
    write(project / "inner", "[tool.other]\nx = 1")
    assert load_config([project / "inner"]).exclude == ("outer",)


def test_isolated_reads_nothing_and_keeps_the_root(project: Path) -> None:
    write(project, "[tool.graphlint]\nnonsense = 1")
    assert load_config([project], isolated=True) == Config(root=project)


def test_a_named_file_takes_the_place_of_the_nearest(project: Path) -> None:
    write(project, '[tool.graphlint]\nexclude = ["near"]')
    other = write(project / "other", '[tool.graphlint]\nexclude = ["named"]', "lint.toml")
    assert load_config([project], other).exclude == ("named",)


@pytest.mark.parametrize(
    ("select", "ignore", "on", "off"),
    [
        (["CG9"], [], "CG901", "CG301"),
        (["unused-suppression"], [], "CG901", "CG902"),
        (["ALL"], ["CG901"], "CG902", "CG901"),
        (["CG901"], ["CG9"], "CG901", "CG902"),
        (["ALL"], ["CG9"], "CG301", "CG900"),
        (["CG9"], ["CG902", "ALL"], "CG901", "CG902"),
    ],
)
def test_the_longest_selector_decides(select: list[str], ignore: list[str], on: str, off: str) -> None:
    config = config_from({"select": select, "ignore": ignore}, Path("pyproject.toml"))
    assert config.is_enabled(on)
    assert not config.is_enabled(off)


def test_a_tie_is_ignored() -> None:
    config = config_from({"select": ["CG901"], "ignore": ["CG901"]}, Path("pyproject.toml"))
    assert not config.is_enabled("CG901")


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("tests/deep/a.py", ("CG4", "CG901")),
        ("tools/run.py", ("CG901",)),
        ("model.py", ()),
        ("../tests/a.py", ()),
    ],
)
def test_what_files_are_spared(project: Path, path: str, codes: tuple[str, ...]) -> None:
    table = {"per-file-ignores": {"tests/": ["CG4"], "t*/**/*.py": ["unused-suppression"]}}
    config = config_from(table, write(project / "inner", ""))
    assert config.ignored_in(str((project / "inner" / path).resolve())) == codes


def test_an_empty_select_selects_nothing() -> None:
    assert not config_from({"select": []}, Path("pyproject.toml")).is_enabled("CG901")


@pytest.mark.parametrize(
    ("select", "ignore", "on"),
    [
        (["CG901"], [], ["CG901"]),
        (["unused-suppression"], [], ["CG901"]),
        (["CG9"], [], ["CG900", "CG902", "CG903"]),  # the longer selector decides as ever
        (["CG901"], ["CG901"], []),
        ([], [], ["CG900", "CG902", "CG903"]),
    ],
)
def test_select_of_the_command_line_wins_over_ignore_of_the_file(
    select: list[str], ignore: list[str], on: list[str]
) -> None:
    config = config_from({"ignore": ["CG901"]}, Path("pyproject.toml")).override(select, ignore)
    assert [code for code in ("CG900", "CG901", "CG902", "CG903") if config.is_enabled(code)] == on


def test_the_command_line_replaces_select_and_adds_to_ignore() -> None:
    config = config_from({"select": ["CG901"], "ignore": ["CG902"]}, Path("pyproject.toml"))
    config = config.override(select=["CG9"], ignore=["CG903"])
    assert [code for code in ("CG900", "CG901", "CG902", "CG903") if config.is_enabled(code)] == [
        "CG900",
        "CG901",
    ]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"selct": []}, "unknown key `selct` in [tool.graphlint]; did you mean `select`?"),
        ({"zzz": []}, "unknown key `zzz`"),
        ({"select": ["CG931"]}, "unknown rule `CG931`; did you mean"),
        ({"ignore": ["unused-supression"]}, "did you mean `unused-suppression`?"),
        ({"select": "CG901"}, "`select` must be a list of strings, not a string"),
        ({"exclude": [1]}, "`exclude` must hold strings only, not a number"),
        ({"ignore": True}, "`ignore` must be a list of strings, not a boolean"),
        ({"per-file-ignores": ["CG4"]}, "`per-file-ignores` must be a table, not a list"),
        ({"per-file-ignores": {"a.py": "CG4"}}, "`per-file-ignores.a.py` must be a list of strings"),
        ({"per-file-ignores": {"a.py": ["CG999"]}}, "`per-file-ignores.a.py`: unknown rule `CG999`"),
        ({"sentinel": []}, "[tool.graphlint.sentinel] must be a table"),
        ({"sentinel": {"alow": []}}, "[tool.graphlint.sentinel] has an unknown key `alow`"),
        ({"captured": ["decode"]}, "`captured` entry `decode` is not of the form"),
        ({"captured": ["pkg.model:"]}, "is not of the form `pkg.module:Class.method`"),
        ({"guards": ["is capturing"]}, "`guards` entry `is capturing` is not of the form"),
    ],
)
def test_what_a_table_must_not_hold_is_named(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_from(table, Path("some/pyproject.toml"))
    assert str(caught.value).startswith("some/pyproject.toml: ")
    assert words in str(caught.value)


def test_entry_points_are_kept_as_written() -> None:
    table: dict[str, object] = {
        "captured": ["pkg.model:Decoder.forward", "tools/run.py:step"],
        "guards": ["pkg.state:is_capturing", "pkg.state.capturing"],
    }
    config = config_from(table, Path("pyproject.toml"))
    assert config.captured == ("pkg.model:Decoder.forward", "tools/run.py:step")
    assert config.guards == ("pkg.state:is_capturing", "pkg.state.capturing")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[tool.graphlint\n", "is not valid TOML"),
        (b"[tool]\ngraphlint = 3\n", "tool.graphlint must be a table, not a number"),
        (b"# \xff\n", "is not UTF-8"),
    ],
)
def test_a_broken_file_is_one_clear_message(project: Path, data: bytes, words: str) -> None:
    (project / "pyproject.toml").write_bytes(data)
    with pytest.raises(ConfigError, match=words) as caught:
        load_config([project])
    assert "\n" not in str(caught.value)


def test_a_named_file_must_exist_and_have_the_table(project: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config([project], project / "absent.toml")
    with pytest.raises(ConfigError, match="has no"):
        load_config([project], write(project, "x = 1", "empty.toml"))


def test_a_byte_order_mark_is_no_error(project: Path) -> None:
    (project / "pyproject.toml").write_bytes(b'\xef\xbb\xbf[tool.graphlint]\nexclude = ["x"]')
    assert load_config([project]).exclude == ("x",)
