"""`[tool.graphlint]`: where it is looked up, what it may hold, and what it decides."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphlint.profiles import Profile, ProfileError, named, profile_from, require_recognised
from graphlint.rules.registry import UnknownSelectorError, resolve_selector

if TYPE_CHECKING:
    from graphlint.ignorefiles import IgnoreList

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LISTS = ("select", "ignore", "exclude", "captured", "guards")
# The table `sentinel` is used by the runtime half alone.
KEYS = (*LISTS, "per-file-ignores", "profiles", "profile", "sentinel")
_CAPTURED = re.compile(r"[^\s:]+:[^\W\d]\w*(\.[^\W\d]\w*)*")
_GUARD = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?")


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the reason."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one run, from `file`; relative settings are meant from `root`.

    `select` and `ignore` hold code prefixes: `""` for every rule, `CG3` for a family, a code for one rule.
    `per_file_ignores` holds such prefixes by a pattern as in .gitignore, meant from `root`.
    `profiles` names the profiles to use, None for those of the frameworks that the project uses; what that
    comes to is put in `in_force` by the analysis. `is_partial` is set for a run over less than all of `root`.
    """

    root: Path = field(default_factory=Path.cwd)
    file: Path | None = None
    select: tuple[str, ...] = ("",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    captured: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    profiles: tuple[str, ...] | None = None
    own_profiles: tuple[Profile, ...] = ()
    in_force: tuple[Profile, ...] = ()
    is_partial: bool = False

    def is_enabled(self, code: str) -> bool:
        """Return whether findings of `code` are wanted: the longest prefix decides, `ignore` on a tie."""
        wanted = _longest_match(code, self.select)
        unwanted = _longest_match(code, self.ignore)
        return wanted is not None and (unwanted is None or wanted > unwanted)

    def ignored_in(self, path: str) -> tuple[str, ...]:
        """Return the code prefixes whose findings are not wanted in the file of an absolute real path."""
        lists = _spared(self.root, self.per_file_ignores)
        return tuple(code for each, codes in lists if each.verdict(path, is_folder=False) for code in codes)

    def override(self, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Config:
        """Return the settings with a command line's `--select` in place of and `--ignore` on top of its own.

        What `--select` names is reported although the settings ignore the very same. Raises ConfigError for a
        rule that does not exist.
        """
        selected = _prefixes(select, "--select")
        kept = (prefix for prefix in self.ignore if prefix not in selected)
        return replace(
            self,
            select=selected or self.select,
            ignore=(*kept, *_prefixes(ignore, "--ignore")),
        )


@cache
def _spared(
    root: Path, per_file: tuple[tuple[str, tuple[str, ...]], ...]
) -> list[tuple[IgnoreList, tuple[str, ...]]]:
    from graphlint.ignorefiles import ignore_list

    return [(ignore_list(str(root), [pattern]), codes) for pattern, codes in per_file]


def _longest_match(code: str, prefixes: Iterable[str]) -> int | None:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=None)


def load_config(paths: Sequence[Path], file: Path | None = None, *, isolated: bool = False) -> Config:
    """Return the settings for a run over `paths`: from `file`, else from the nearest above the first path.

    The nearest pyproject.toml that has a `[tool.graphlint]` table counts. `isolated` reads none at all.
    Raises ConfigError.
    """
    start = _folder_of(paths[0] if paths else Path())
    if isolated:
        return Config(root=project_root(start))
    if file is not None:
        stated = read_table(file)
        if stated is None:
            raise ConfigError(f"{file}: has no [tool.graphlint] table")
        return config_from(stated, file)
    nearest, table = nearest_table(start)
    return config_from(table, nearest) if nearest is not None else Config(root=project_root(start))


def nearest_table(start: Path) -> tuple[Path | None, Mapping[str, object]]:
    """Return the nearest pyproject.toml from a folder upwards that has a `[tool.graphlint]` table, and it.

    Raises ConfigError.
    """
    for candidate in (folder / "pyproject.toml" for folder in (start, *start.parents)):
        table = read_table(candidate) if os.path.isfile(candidate) else None
        if table is not None:
            return candidate, table
    return None, {}


def project_root(start: Path) -> Path:
    """Return the nearest folder from `start` upwards that looks like a project's, else `start`."""
    marks = (".git", "pyproject.toml")
    return next(
        (
            folder
            for folder in (start, *start.parents)
            if any(os.path.exists(folder / mark) for mark in marks)
        ),
        start,
    )


def cache_folder(root: Path) -> Path:
    """Return where runs over the project at `root` keep what the next run can use."""
    return root / ".graphlint_cache"


def _folder_of(path: Path) -> Path:
    absolute = Path(path).absolute()
    return (absolute if os.path.isdir(absolute) else absolute.parent).resolve()


def read_table(file: Path) -> Mapping[str, object] | None:
    """Return the `[tool.graphlint]` table of a TOML file, or None when it has none. Raises ConfigError."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not UTF-8: {error.reason} at byte {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}: is not valid TOML: {error}") from None
    tool = data.get("tool", {})
    table = tool.get("graphlint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{file}: tool.graphlint must be a table, not {_kind(table)}")
    return table


def config_from(table: Mapping[str, object], file: Path) -> Config:
    """Return the settings that a table states. Raises ConfigError for what it must not hold."""
    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{file}: unknown key `{key}` in [tool.graphlint]{_nearest_key(key)}")
    lists = {key: _strings(table.get(key, []), key, file) for key in LISTS}
    for key, pattern, example in (
        ("captured", _CAPTURED, "pkg.module:Class.method"),
        ("guards", _GUARD, "pkg.module:function"),
    ):
        for entry in lists[key]:
            if not pattern.fullmatch(entry):
                raise ConfigError(f"{file}: `{key}` entry `{entry}` is not of the form `{example}`")
    _check_sentinel(table, file)
    return Config(
        root=file.absolute().parent.resolve(),
        file=file,
        select=_prefixes(lists["select"], f"{file}: `select`") if "select" in table else ("",),
        ignore=_prefixes(lists["ignore"], f"{file}: `ignore`"),
        exclude=lists["exclude"],
        per_file_ignores=_per_file(table.get("per-file-ignores", {}), file),
        captured=lists["captured"],
        guards=lists["guards"],
        **_profiles(table, file),
    )


def _check_sentinel(table: Mapping[str, object], file: Path) -> None:
    """Raise ConfigError for what the sentinel would refuse: said here, before a run of it."""
    if "sentinel" in table:
        from graphlint.sentinel.allowing import table_from  # it needs this module

        table_from(table["sentinel"], file)


def _per_file(table: object, file: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: `per-file-ignores` must be a table, not {_kind(table)}")
    where = {pattern: f"per-file-ignores.{pattern}" for pattern in table}
    return tuple(
        (pattern, _prefixes(_strings(codes, where[pattern], file), f"{file}: `{where[pattern]}`"))
        for pattern, codes in table.items()
    )


def _profiles(table: Mapping[str, object], file: Path) -> dict[str, Any]:
    tables = table.get("profile", {})
    if not isinstance(tables, dict):
        raise ConfigError(f"{file}: `profile` must be a table of tables, not {_kind(tables)}")
    try:
        own = tuple(profile_from(each, name) for name, each in tables.items())
        chosen = _strings(table["profiles"], "profiles", file) if "profiles" in table else None
        named(chosen or (), own)
        if chosen is None:
            require_recognised(own)
    except ProfileError as error:
        raise ConfigError(f"{file}: {error}") from None
    return {"profiles": chosen, "own_profiles": own}


def _nearest_key(key: str) -> str:
    near = difflib.get_close_matches(key.lower(), KEYS, n=1)
    return f"; did you mean `{near[0]}`?" if near else f"; known keys: {', '.join(KEYS)}"


def _strings(value: object, key: str, file: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{file}: `{key}` must be a list of strings, not {_kind(value)}")
    for item in value:
        if not isinstance(item, str):
            raise ConfigError(f"{file}: `{key}` must hold strings only, not {_kind(item)}")
    return tuple(value)


def _prefixes(selectors: Iterable[str], where: str) -> tuple[str, ...]:
    try:
        return tuple(resolve_selector(selector) for selector in selectors)
    except UnknownSelectorError as error:
        raise ConfigError(f"{where}: {error}") from None


def _kind(value: object) -> str:
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "a boolean"),
        (str, "a string"),
        (int, "a number"),
        (float, "a number"),
        (list, "a list"),
        (dict, "a table"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "a date or time")
