"""Profiles at work: which are in force, what their patterns mean, which files they make units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphlint.analysis.classes import ClassInfo, last_name
from graphlint.analysis.values import Function
from graphlint.facts import nodes as ast
from graphlint.facts.questions import question
from graphlint.profiles import Constant, Life, Operator, Profile, built_in, named
from graphlint.profiles.patterns import Pattern

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.config import Config
    from graphlint.facts.modules import ModuleFile
    from graphlint.facts.project import Project

# How many files one profile may add to the units of a run.
MOST_UNITS = 24


@dataclass(frozen=True, slots=True)
class Role:
    """What the profiles in force say of one function."""

    guard: bool = False
    hole: bool = False
    transparent: bool = False
    unfollowed: bool = False
    operator: Operator | None = None
    assumed: Constant | None = None
    stands_for: str = ""


NO_ROLE = Role()


def in_force(project: Project, config: Config) -> tuple[Profile, ...]:
    """The profiles that the configuration names, else those that the project's imports switch on."""
    if config.profiles is not None:
        return named(config.profiles, config.own_profiles)
    own = {profile.name for profile in config.own_profiles}
    every = [*config.own_profiles, *(p for name, p in built_in().items() if name not in own)]
    return tuple(p for p in every if any(map(project.uses_package, p.recognise)))


# units


def units(project: Project, profile: Profile) -> list[str]:
    """The files that may hold captured functions of a profile, told by their text; likely ones first."""
    found: dict[str, None] = {}
    for pattern in (*profile.captured, *profile.compiled):
        found.update(dict.fromkeys(_holding(project, pattern)))
    return list(found)


def _holding(project: Project, pattern: Pattern) -> Iterator[str]:
    """The files near the package of a pattern that define what it may mean."""
    words = [word for word in (pattern.decorator, pattern.owner) if word and not set("@*") & set(word)]
    for path in project.near(pattern.package.partition(".")[0], words):
        if pattern.names_any(project.scan_of(path).defines):
            yield path


def means_any(project: Project, pattern: Pattern) -> bool:
    """Whether a pattern means any function of the project; a file that cannot be read may hold one."""
    modules = (project.file(Path(path)) for path in _holding(project, pattern))
    return any(module is None or _means_any_of(module, pattern) for module in modules)


def _means_any_of(module: ModuleFile, pattern: Pattern) -> bool:
    return any(
        _is_meant(module, pattern, node, _class_around(module, qualname))
        for qualname, node in module.functions()
        if not isinstance(node, ast.ClassDef)
    )


def mark(module: ModuleFile, profiles: Iterable[Profile]) -> None:
    """Mark the functions of a module that the profiles say are captured."""
    for profile in profiles:
        for kind, patterns in (("compiled", profile.compiled), ("captured", profile.captured)):
            for qualname, node in _meant(module, patterns, profile.never):
                node._declared = kind  # type: ignore[union-attr]
                module.notes.add(f"{kind}: {qualname}")


def _meant(
    module: ModuleFile, patterns: Iterable[Pattern], never: Iterable[Pattern]
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    wanted = list(patterns)
    if not wanted:
        return
    plain, open_ = {p.name for p in wanted}, [p for p in wanted if not p.is_plain]
    for qualname, node in module.functions():
        if isinstance(node, ast.ClassDef):
            continue
        if node.name not in plain and not any(p.names(node.name) for p in open_):
            continue
        owner = _class_around(module, qualname)
        if any(_is_meant(module, p, node, owner) for p in wanted):
            if not any(_is_meant(module, p, node, owner) for p in never) and not _is_empty(node):
                yield qualname, node


def _class_around(module: ModuleFile, qualname: str) -> ast.ClassDef | None:
    around = module.definitions(qualname.rpartition(".")[0])
    return around[0] if around and isinstance(around[0], ast.ClassDef) else None


def _is_empty(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a body says nothing: a declaration for others to fill in."""
    return all(isinstance(s, (ast.Pass, ast.Expr, ast.Raise)) and _is_plain(s) for s in node.body)


def _is_plain(statement: ast.stmt) -> bool:
    return not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Constant)


# what a pattern means


def is_part(module: ModuleFile, pattern: Pattern) -> bool:
    """Whether a module lies in the package; where only a folder of it is checked, its path says so."""
    return pattern.belongs(module.name) or pattern.belongs(".".join(module.path.with_suffix("").parts))


def _is_meant(
    module: ModuleFile,
    pattern: Pattern,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    owner: ast.ClassDef | None,
) -> bool:
    if not pattern.names(node.name):
        return False
    if pattern.decorator:
        carrier = owner if pattern.owner else node
        return carrier is not None and _is_decorated(module, carrier, pattern)
    if not pattern.owner:
        return owner is None and is_part(module, pattern)
    return owner is not None and _is_of_kind(module, pattern, owner, set())


def _is_decorated(
    module: ModuleFile, carrier: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, pattern: Pattern
) -> bool:
    for decorator in carrier.decorator_list:
        named_ = decorator.func if isinstance(decorator, ast.Call) else decorator
        if last_name(named_) == pattern.decorator and _comes_from(module, named_, pattern):
            return True
    return False


def _is_of_kind(module: ModuleFile, pattern: Pattern, owner: ast.ClassDef, seen: set[str]) -> bool:
    """Whether a class is one that the pattern owns, or derives from one, as far as its module tells."""
    if is_part(module, pattern) and pattern.owns(owner.name):
        return True
    seen.add(owner.name)
    for base in owner.bases:
        plain = base.value if isinstance(base, ast.Subscript) else base
        name = last_name(plain)
        if pattern.owns(name) and _comes_from(module, plain, pattern):
            return True
        for other in module.definitions(name) if name not in seen else ():
            if isinstance(other, ast.ClassDef) and _is_of_kind(module, pattern, other, seen):
                return True
    return False


def _comes_from(module: ModuleFile, node: ast.expr, pattern: Pattern) -> bool:
    """Whether a name of a module is the package's: imported from there, or the module is part of it."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if is_part(module, pattern):
        return True
    bound = module.bindings.get(node.id, ()) if isinstance(node, ast.Name) else ()
    for binding in bound:
        if isinstance(binding.node, ast.ImportFrom) and pattern.belongs(binding.node.module or ""):
            return True
        if isinstance(binding.node, ast.Import) and binding.alias is not None:
            if pattern.belongs(binding.alias.name):
                return True
    return False


# what the machine asks


def role_of(m: Machine, function: Function) -> Role:
    """What the profiles in force say of a project function; found out once for each definition."""
    node = function.node
    if isinstance(node, ast.Lambda) or not m.config.in_force:
        return NO_ROLE
    known: Role | None = getattr(node, "_role", None)
    if known is None:
        known = node._role = _role(m.config.in_force, function.module, node, function.cls)  # type: ignore[union-attr]
    return known


def _role(
    profiles: Iterable[Profile],
    module: ModuleFile,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    cls: ClassInfo | None,
) -> Role:
    def meant(pattern: Pattern) -> bool:
        if _is_meant(module, pattern, node, cls.node if cls is not None else None):
            return True
        if cls is None or not pattern.owner or pattern.decorator:
            return False
        return pattern.names(node.name) and is_kind(cls, pattern)

    return _first_role(profiles, meant)


def _first_role(profiles: Iterable[Profile], meant: Callable[[Pattern], bool]) -> Role:
    roles = (stated for profile in profiles for stated in _stated(profile))
    return next((Role(**{key: value}) for pattern, key, value in roles if meant(pattern)), NO_ROLE)


def _stated(profile: Profile) -> Iterator[tuple[Pattern, str, Any]]:
    """What a profile says of functions, as fields of their roles; of several the first counts."""
    yield from ((operator.function, "operator", operator) for operator in profile.operators)
    yield from ((pattern, "guard", True) for pattern in profile.guards)
    yield from ((pattern, "hole", True) for pattern in profile.holes)
    yield from ((pattern, "transparent", True) for pattern in profile.transparent)
    yield from ((pattern, "unfollowed", True) for pattern in profile.unfollowed)
    yield from ((pattern, "assumed", constant) for pattern, constant in profile.assume)
    yield from ((pattern, "stands_for", name) for pattern, name in profile.stands_for if ":" not in name)


def role_of_external(m: Machine, dotted: str) -> Role:
    """What the profiles in force say of a function outside the project."""
    if not m.config.in_force:
        return NO_ROLE
    key = ("role", dotted)
    known = m.memo.get(key)
    if not isinstance(known, Role):
        parts = dotted.split(".")

        def meant(pattern: Pattern) -> bool:
            if pattern.decorator or not pattern.names(parts[-1]):
                return False
            owner = len(parts) > 2 and pattern.owns(parts[-2])
            return pattern.belongs(dotted) and (owner or not pattern.owner)

        known = m.memo[key] = _first_role(m.config.in_force, meant)
    return known


def is_kind(info: ClassInfo, pattern: Pattern) -> bool:
    """Whether a resolved class is one that the pattern owns, or derives from one."""
    if any(pattern.owns(cls.name) and is_part(cls.module, pattern) for cls in info.mro()):
        return True
    return any(pattern.owns(n.rpartition(".")[2]) and pattern.belongs(n) for n in info.externals())


def assumed_member(m: Machine, info: ClassInfo) -> str | None:
    """The member that an enumeration of a framework has at capture."""
    for profile in m.config.in_force:
        for pattern, constant in profile.assume:
            if not pattern.owner and pattern.name == info.name and is_part(info.module, pattern):
                return constant if isinstance(constant, str) else None
    return None


def assumed_fields(m: Machine, info: ClassInfo) -> Iterator[tuple[str, Constant]]:
    """The fields of instances whose value at capture is known."""
    for profile in m.config.in_force:
        for pattern, constant in profile.assume:
            if pattern.owner and pattern.name not in info.methods and is_kind(info, pattern):
                yield pattern.name, constant


def lives_of(m: Machine, info: ClassInfo) -> Iterator[Life]:
    """The ways in which programs use objects of a class, where a profile says so."""
    for profile in m.config.in_force:
        for life in profile.lives:
            if life.cls.name == info.name and is_part(info.module, life.cls):
                yield life


def class_of_object(m: Machine, module: ModuleFile, name: str) -> tuple[str, str] | None:
    """The module and name of the class whose instance a name of a module is at capture, by a profile."""
    for profile in m.config.in_force:
        for pattern, meant in profile.stands_for:
            if not pattern.owner and pattern.name == name and is_part(module, pattern):
                home, is_class, cls = meant.partition(":")
                return (home, cls) if is_class else None
    return None


def default_device(m: Machine) -> str | None:
    """Where a framework makes the tensors of a module's constructor; None when no profile says it."""
    for frame in m.frames if any(p.device for p in m.config.in_force) else ():
        function = frame.function
        if function is None or function.cls is None or getattr(function.node, "name", "") != "__init__":
            continue
        for profile in m.config.in_force:
            if profile.device and function.cls.is_module and _uses(function.module, profile):
                return profile.device
    return None


def _uses(module: ModuleFile, profile: Profile) -> bool:
    """Whether a module is part of a framework or imports from it."""
    return any(speaks_of(module, package) for package in profile.recognise)


@question
def speaks_of(module: ModuleFile, package: str) -> bool:
    """Whether a module is part of a package or imports from it."""
    pattern = Pattern(package, "", "*")
    names = [module.name, ".".join(module.path.with_suffix("").parts)]
    for bindings in module.bindings.values():
        for binding in bindings:
            if isinstance(binding.node, ast.ImportFrom):
                names.append(binding.node.module or "")
            elif isinstance(binding.node, ast.Import) and binding.alias is not None:
                names.append(binding.alias.name)
    return any(map(pattern.belongs, names))
