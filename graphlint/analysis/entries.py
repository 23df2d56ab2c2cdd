"""Entries of the configuration that name no function: when that is said, and where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.analysis import frameworks
from graphlint.finding import Confidence, Finding, Span
from graphlint.rules.unresolved_region_target import UnresolvedRegionTarget

if TYPE_CHECKING:
    from graphlint.config import Config
    from graphlint.facts.project import Project
    from graphlint.profiles.patterns import Pattern

_FORM = "an entry is `package.module:Class.method` or `path/to/file.py:function`"
_FORM_OF_PATTERN = "an entry is `package:function`, `package:Class.method` or `package:@decorator.method`"

_FORMS = {
    "recognise": "an entry is a package as it is imported, and importing one of them switches the profile on"
}


def are_complete(project: Project, config: Config, where: str) -> bool:
    """Whether a function that an entry names must be among the checked files, if there is one at all.

    `where` is the module or the `path.py` of the entry. A run over a part of the project need not hold it,
    and what a file with a syntax error defines is not known.
    """
    is_path = where.endswith(".py")
    path = os.path.normpath(config.root / where) if is_path else project.resolves_to(where, "")
    if not project.holds(path):
        return not config.is_partial
    # Of several files of one name the one that is meant may not be among a part of them.
    is_sure = is_path or "." in where or Path(path).parent == config.root
    return project.was_readable(path) and (is_sure or not config.is_partial)


def unmatched_of_profiles(project: Project, config: Config) -> Iterator[Finding]:
    """The findings about entries that name no function in those profiles of the user that are in force."""
    for profile in config.in_force:
        if profile in config.own_profiles:
            for key, patterns in (("captured", profile.captured), ("guards", profile.guards)):
                for pattern in patterns:
                    if _is_idle(project, config, key, pattern):
                        yield unmatched(config, key, str(pattern), profile.name)


def unrecognised(project: Project, config: Config) -> Iterator[Finding]:
    """The findings about profiles of the user that nothing switches on, though what they name is there.

    A part of a project need not import what does so.
    """
    if config.is_partial or config.profiles is not None:
        return
    for profile in config.own_profiles:
        patterns = (*profile.captured, *profile.compiled, *profile.never, *profile.guards)
        if profile not in config.in_force and any(project.uses_package(p.package) for p in patterns):
            for package in profile.recognise:
                names = "names no package that the checked files import or hold"
                yield unmatched(config, "recognise", package, profile.name, names)


def _is_idle(project: Project, config: Config, key: str, pattern: Pattern) -> bool:
    path = project.resolves_to(pattern.package, "")
    if key == "guards" and not path:
        return False  # it may name a function of a library
    if config.is_partial and os.path.basename(path) == "__init__.py":
        return False  # any file of the package may hold what is meant
    return are_complete(project, config, pattern.package) and not frameworks.means_any(project, pattern)


def unmatched(
    config: Config,
    key: str,
    entry: str,
    profile: str = "",
    fails: str = "names no function of the files that are checked",
) -> Finding:
    """The finding about an entry that names nothing, at its place in the configuration file."""
    rule = UnresolvedRegionTarget
    path = config.file or config.root / "pyproject.toml"
    whose = f" of profile `{profile}`" if profile else ""
    message = f"the `{key}` entry `{entry}`{whose} {fails}"
    return Finding(
        _shown(path),
        _span(path, entry),
        rule.code,
        rule.name,
        rule.hazard,
        rule.level,
        Confidence.DEFINITE,
        message,
        help=_FORMS.get(key, _FORM_OF_PATTERN) if profile else _FORM,
    )


def _shown(path: Path) -> str:
    try:
        return path.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.absolute().as_posix()


def _span(path: Path, entry: str) -> Span:
    """Where the entry stands in the configuration file; its first line when it cannot be found."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    for number, line in enumerate(lines, 1):
        column = line.find(entry)
        if column >= 0:
            return Span(number, column + 1, number, column + 1 + len(entry))
    return Span(1, 1, 1, 1)
