"""Project classes: bases, method resolution order, members."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphlint.analysis.values import Env, Value
    from graphlint.facts.modules import ModuleFile

Def = ast.FunctionDef | ast.AsyncFunctionDef


class ClassInfo:
    """A class statement of the project with its bases resolved.

    `bases` holds the project's classes in order, `external_bases` the dotted names of others
    (`torch.nn.Module`), `unknown_bases` tells that some base could not be followed.
    """

    def __init__(self, node: ast.ClassDef, module: ModuleFile, env: Env | None, qualname: str) -> None:
        self.node = node
        self.module = module
        self.env = env
        self.qualname = f"{module.name}.{qualname}"
        self.name = node.name
        self.scope = qualname
        self.bases: list[ClassInfo] = []
        self.external_bases: list[str] = []
        self.unknown_bases = False
        self.methods: dict[str, Def] = {}
        self.attributes: dict[str, ast.expr | None] = {}
        self.annotations: dict[str, ast.expr] = {}
        self.values: dict[str, Value] = {}
        self._collect(node.body)

    def _collect(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if statement.name not in self.methods or not _is_accessor(statement):
                    self.methods[statement.name] = statement
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self.attributes[target.id] = statement.value
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self.annotations[statement.target.id] = statement.annotation
                self.attributes[statement.target.id] = statement.value
            elif isinstance(statement, (ast.If, ast.Try, ast.With)):
                self._collect(statement.body)
                self._collect(getattr(statement, "orelse", []))

    def mro(self) -> Iterator[ClassInfo]:
        """This class and its project bases, depth first from the left, each once."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            info = stack.pop(0)
            if id(info) in seen:
                continue
            seen.add(id(info))
            yield info
            stack = [*info.bases, *stack]

    def find(self, name: str, after: ClassInfo | None = None) -> tuple[ClassInfo, Def] | None:
        """The method `name` and the class that defines it; after `after` in the order for `super()`."""
        skipping = after is not None
        for info in self.mro():
            if skipping:
                skipping = info is not after
                continue
            if name in info.methods:
                return info, info.methods[name]
        return None

    def derives_from(self, dotted: str) -> bool:
        return any(dotted in info.external_bases for info in self.mro())

    def externals(self) -> Iterator[str]:
        for info in self.mro():
            yield from info.external_bases

    @property
    def is_module(self) -> bool:
        """Whether calling an instance calls its `forward` (`torch.nn.Module` and relatives)."""
        return any(is_module_class(name) for name in self.externals())

    @property
    def is_enum(self) -> bool:
        return any(name.rpartition(".")[2] in _ENUMS for name in self.externals())

    @property
    def is_record(self) -> bool:
        """Whether the constructor is made from annotated fields (dataclass, NamedTuple, pydantic)."""
        names = [name.rpartition(".")[2] for info in self.mro() for name in info.external_bases]
        if any(name in ("NamedTuple", "TypedDict", "BaseModel", "Struct") for name in names):
            return True
        return any(_names_record(item) for info in self.mro() for item in info.node.decorator_list)

    def record_fields(self) -> dict[str, tuple[ClassInfo, ast.expr, ast.expr | None]]:
        """Annotated fields in constructor order: the class, annotation and default of each."""
        found: dict[str, tuple[ClassInfo, ast.expr, ast.expr | None]] = {}
        for info in reversed(list(self.mro())):
            for name, annotation in info.annotations.items():
                if "ClassVar" not in ast.dump(annotation):
                    found[name] = (info, annotation, info.attributes.get(name))
        return found


_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


def is_module_class(dotted: str) -> bool:
    """Whether a class outside the project is an `nn.Module` by its name."""
    return dotted.startswith(("torch.nn.modules.", "torch.nn.")) and "functional" not in dotted


def _names_record(decorator: ast.expr) -> bool:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in ("dataclass", "define", "frozen", "attrs", "s", "mutable", "config")


def _is_accessor(node: Def) -> bool:
    """Whether a method only changes an earlier property (`@x.setter`, `@overload`)."""
    for item in node.decorator_list:
        if isinstance(item, ast.Attribute) and item.attr in ("setter", "deleter"):
            return True
    return False
