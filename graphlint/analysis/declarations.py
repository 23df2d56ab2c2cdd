"""What users and profiles declare: captured functions, and functions that tell whether a capture is open."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.analysis import entries, frameworks, roots
from graphlint.facts import nodes as ast
from graphlint.facts.looking import start_of, start_of_body
from graphlint.finding import Confidence, Finding, Level, Span
from graphlint.rules.unresolved_region_target import UnresolvedRegionTarget

if TYPE_CHECKING:
    from graphlint.config import Config
    from graphlint.facts.modules import ModuleFile
    from graphlint.facts.project import Project
    from graphlint.profiles import Profile

_COMMENT = re.compile(r"#[ \t]*graphlint:[ \t]*captured\b")
# Where calling an object leads, for an entry that names a class.
_CALLS = ("__call__", "forward")


@dataclass(slots=True)
class Declared:
    """The files with marks and those with declared functions, and what entries say of files.

    The findings are about entries that match nothing.
    """

    paths: set[str] = field(default_factory=set)
    noted: dict[str, list[str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def take(project: Project, config: Config) -> Declared:
    """Mark the functions that comments, the configuration and profiles declare, and prepare their files."""
    found = Declared()
    mark = partial(frameworks.mark, profiles=config.in_force)
    project.when_parsed(mark)
    for profile in config.in_force:
        _of_profile(project, profile, found)
    found.findings.extend(entries.unmatched_of_profiles(project, config))
    found.findings.extend(entries.unrecognised(project, config))
    for path in project.marked_paths():
        if "declared" in project.scan_of(path).marks:
            module = project.file(Path(path))
            if module is not None:
                _from_comments(module)
    for entry in config.captured:
        _captured_entry(project, config, entry, found)
    for entry in config.guards:
        _guard_entry(project, config, entry, found)
    found.paths.update(project.marked_paths())
    project.when_parsed(partial(_prepare, mark=mark, among=found.paths))
    return found


def _prepare(module: ModuleFile, mark: Callable[[ModuleFile], None], among: Container[str]) -> None:
    """Make a module ready for the analysis before anybody looks at it: whoever does must see the same."""
    mark(module)
    if str(module.path) in among:
        roots.spread_aliases(module)


def _of_profile(project: Project, profile: Profile, found: Declared) -> None:
    """Add the files with captured functions of a profile: not more than a bounded number, which is said."""
    paths = [path for path in frameworks.units(project, profile) if path not in found.paths]
    found.paths.update(paths[: frameworks.MOST_UNITS])
    left = paths[frameworks.MOST_UNITS :]
    if left:
        found.findings.append(_left_out(project, profile, left))


def _left_out(project: Project, profile: Profile, left: list[str]) -> Finding:
    rule = UnresolvedRegionTarget
    message = (
        f"profile `{profile.name}`: this file and {len(left) - 1} others that may hold captured functions "
        f"were left out; a profile adds at most {frameworks.MOST_UNITS} files to a run"
    )
    return Finding(
        project.display(left[0]),
        Span(1, 1, 1, 1),
        rule.code,
        rule.name,
        rule.hazard,
        Level.NOTE,
        Confidence.DEFINITE,
        message,
        help="check a part of the project, or list what matters under `captured`",
    )


def _from_comments(module: ModuleFile) -> None:
    for qualname, node in module.functions():
        if not isinstance(node, ast.ClassDef) and any(map(_COMMENT.search, _header(module, node))):
            node._declared = True  # type: ignore[union-attr]
            module.notes.add(f"commented: {qualname}")


def _header(module: ModuleFile, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The lines of a function's signature, and a comment directly above it."""
    line, first = module.source.line, start_of(node)[0]
    if first >= 2 and line(first - 1).lstrip().startswith("#"):
        yield line(first - 1)
    for number in range(node.lineno, max(node.lineno, start_of_body(node)[0] - 1) + 1):
        if not line(number).lstrip().startswith("#"):
            yield line(number)


def _captured_entry(project: Project, config: Config, entry: str, found: Declared) -> None:
    module, nodes = _definitions(project, config, entry)
    for node in nodes:
        node._declared = True  # type: ignore[union-attr]
    if module is not None and nodes:
        found.paths.add(str(module.path))
        _note(found, module, f"captured: {entry}")
    elif entries.are_complete(project, config, entry.rpartition(":")[0]):
        found.findings.append(entries.unmatched(config, "captured", entry))


def _guard_entry(project: Project, config: Config, entry: str, found: Declared) -> None:
    target = entry if ":" in entry else ":".join(entry.rpartition(".")[::2])
    module, nodes = _definitions(project, config, target)
    for node in nodes:
        node._guard = True  # type: ignore[union-attr]
    if module is not None and nodes:
        _note(found, module, f"guard: {entry}")
    elif module is not None or ":" in entry:
        if entries.are_complete(project, config, target.rpartition(":")[0]):
            found.findings.append(entries.unmatched(config, "guards", entry))


def _note(found: Declared, module: ModuleFile, what: str) -> None:
    """Results that rest on a module must know what an entry of the configuration says of it."""
    module.notes.add(what)
    found.noted.setdefault(str(module.path), []).append(what)


def _definitions(
    project: Project, config: Config, entry: str
) -> tuple[ModuleFile | None, list[ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions that `module:qualname` or `path.py:qualname` names; of a class, what calling it runs."""
    where, _, qualname = entry.rpartition(":")
    module = project.file(config.root / where) if where.endswith(".py") else project.module(where)
    if module is None:
        return None, []
    nodes = list(module.definitions(qualname))
    if any(isinstance(node, ast.ClassDef) for node in nodes):
        nodes = [each for name in _CALLS for each in module.definitions(f"{qualname}.{name}")]
    return module, [node for node in nodes if not isinstance(node, ast.ClassDef)]
