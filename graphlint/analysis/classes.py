"""Project classes: bases, method resolution order, members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.analysis.values import Const, Env, Value
from graphlint.facts import nodes as ast
from graphlint.facts.looking import may_say
from graphlint.facts.pernode import per_node, summary
from graphlint.facts.walking import walk

if TYPE_CHECKING:
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
        self.setters: dict[str, Def] = {}
        self.nested: dict[str, ast.ClassDef] = {}
        self.attributes: dict[str, ast.expr | None] = {}
        self.annotations: dict[str, ast.expr] = {}
        self.values: dict[str, Value] = {}
        self.implementations: list[ClassInfo] | None = None
        self.order: list[ClassInfo] = []  # filled by `mro`
        self.slices: dict[tuple[int, str], list[ast.stmt]] = {}  # what `slicing` has found
        self._known: dict[str, bool] = {}  # what has been asked of the bases so far
        self._collect(node.body)

    def _collect(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if statement.name not in self.methods or not _is_accessor(statement):
                    self.methods[statement.name] = statement
                elif _is_setter(statement):
                    self.setters[statement.name] = statement
            elif isinstance(statement, ast.ClassDef):
                self.nested[statement.name] = statement
            elif type(statement) is ast.Assign:
                for target in statement.targets:
                    if type(target) is ast.Name:
                        self.attributes[target.id] = statement.value
            elif type(statement) is ast.AnnAssign and type(statement.target) is ast.Name:
                self.annotations[statement.target.id] = statement.annotation
                self.attributes[statement.target.id] = statement.value
            elif isinstance(statement, (ast.If, ast.Try, ast.With)):
                self._collect(statement.body)
                self._collect(getattr(statement, "orelse", []))

    def mro(self) -> list[ClassInfo]:
        """This class and its project bases in Python's method resolution order."""
        return self.order or _linearised(self, set())

    def add_base(self, base: ClassInfo) -> None:
        self.bases.append(base)
        self.order = []
        self._known = {}

    def add_external_base(self, dotted: str) -> None:
        self.external_bases.append(dotted)
        self._known = {}

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

    def find_setter(self, name: str) -> tuple[ClassInfo, Def] | None:
        """The setter of the property `name`, unless a nearer class redefines the name without one."""
        for info in self.mro():
            if name in info.setters:
                return info, info.setters[name]
            if name in info.methods:
                return None
        return None

    @property
    def is_abstract(self) -> bool:
        """Whether a method that instances get is only declared: such a class has no instances of its own."""
        return any(name.endswith("Protocol") for name in self.external_bases) or any(
            is_declaration(method) and self.find(name) == (info, method)
            for info in self.mro()
            for name, method in info.methods.items()
        )

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
    def is_number_enum(self) -> bool:
        """Whether members equal the numbers or texts that they stand for."""
        mixed = ("IntEnum", "StrEnum", "IntFlag", "int", "str")
        return any(name.rpartition(".")[2] in mixed for name in self.externals())

    @property
    def is_plain_record(self) -> bool:
        """Whether instances are data alone, without methods that change them."""
        if "plain" not in self._known:
            methods = (node for info in self.mro() for node in info.methods.values())
            self._known["plain"] = self.is_record and not any(map(_changes_fields, methods))
        return self._known["plain"]

    @property
    def is_record(self) -> bool:
        """Whether the constructor is made from annotated fields (dataclass, NamedTuple, pydantic)."""
        if "record" not in self._known:
            self._known["record"] = self._is_record()
        return self._known["record"]

    def _is_record(self) -> bool:
        names = [name.rpartition(".")[2] for info in self.mro() for name in info.external_bases]
        if any(name in ("NamedTuple", "TypedDict", "BaseModel", "Struct") for name in names):
            return True
        return any(names_record(item) for info in self.mro() for item in info.node.decorator_list)

    @property
    def is_tuple_record(self) -> bool:
        """Whether instances are tuples of their annotated fields (`NamedTuple`)."""
        return any(name.rpartition(".")[2] == "NamedTuple" for name in self.externals())

    def record_fields(self) -> dict[str, tuple[ClassInfo, ast.expr, ast.expr | None]]:
        """Annotated fields in constructor order: the class, annotation and default of each."""
        found: dict[str, tuple[ClassInfo, ast.expr, ast.expr | None]] = {}
        for info in reversed(list(self.mro())):
            for name, annotation in info.annotations.items():
                if not _is_of_class(annotation):
                    found[name] = (info, annotation, info.attributes.get(name))
        return found


@per_node
def _is_of_class(annotation: ast.expr) -> bool:
    """Whether an annotation says that the class holds the field, not its instances."""
    return "ClassVar" in ast.dump(annotation)


def _linearised(info: ClassInfo, above: set[int]) -> list[ClassInfo]:
    """C3; where Python would refuse the class, or it derives from itself, the bases in the order written.

    Every order on the way is kept, so that a deep hierarchy costs each class once.
    """
    if info.order or id(info) in above:
        return info.order
    above.add(id(info))
    rows = [_linearised(base, above) for base in info.bases]
    above.discard(id(info))
    if len(rows) == 1:  # nothing to merge, and a long chain costs the square of its length as it is
        info.order = [info, *(rows[0] or info.bases)]
    else:
        info.order = [info, *_merged([row for row in [*rows, list(info.bases)] if row])]
    return info.order


def _merged(rows: list[list[ClassInfo]]) -> list[ClassInfo]:
    """The rows as one: always the first head that no other row still has further back."""
    behind = Counter(id(each) for row in rows for each in row[1:])
    starts = [0] * len(rows)
    merged: list[ClassInfo] = []
    taken: set[int] = set()
    while heads := [row[start] for row, start in zip(rows, starts, strict=True) if start < len(row)]:
        head = next((each for each in heads if not behind[id(each)]), heads[0])
        merged.append(head)
        taken.add(id(head))
        for index, row in enumerate(rows):
            while starts[index] < len(row) and id(row[starts[index]]) in taken:
                starts[index] += 1
                if starts[index] < len(row):
                    behind[id(row[starts[index]])] -= 1
    return merged


@summary
def is_declaration(node: Def) -> bool:
    """Whether a method only says what subclasses do: marked abstract, or it raises NotImplementedError."""
    if any(last_name(item).startswith("abstract") for item in node.decorator_list):
        return True
    if not may_say(node, "NotImplementedError"):
        return False
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Raise) or body[0].exc is None:
        return False
    raised = body[0].exc
    return last_name(raised.func if isinstance(raised, ast.Call) else raised) == "NotImplementedError"


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c`; empty for what is not a dotted name."""
    return node.attr if type(node) is ast.Attribute else getattr(node, "id", "")


_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


def is_module_class(dotted: str) -> bool:
    """Whether a class outside the project is an `nn.Module` by its name."""
    return dotted.startswith(("torch.nn.modules.", "torch.nn.")) and "functional" not in dotted


def names_record(decorator: ast.expr) -> bool:
    """Whether a class decorator makes the constructor from annotated fields."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return last_name(node) in ("dataclass", "define", "frozen", "attrs", "s", "mutable", "config")


def _is_setter(node: Def) -> bool:
    return any(isinstance(item, ast.Attribute) and item.attr == "setter" for item in node.decorator_list)


def _is_accessor(node: Def) -> bool:
    """Whether a method only changes an earlier property (`@x.setter`, `@overload`)."""
    for item in node.decorator_list:
        if isinstance(item, ast.Attribute) and item.attr in ("setter", "deleter"):
            return True
    return False


class EnumMember(str):
    """The value of an enum member: its qualified name, its class and its own name."""

    info: ClassInfo
    member: str


def enum_member(info: ClassInfo, name: str) -> Const:
    """The member `name` of a project enum as a constant."""
    value = EnumMember(f"{info.qualname}.{name}")
    value.info, value.member = info, name
    return Const(value)


@summary
def _changes_fields(node: ast.AST) -> bool:
    """Whether a method sets or deletes an attribute, of its object or of another."""
    return any(
        (isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load))
        or (isinstance(part, ast.Name) and part.id in ("setattr", "delattr", "vars"))
        or (isinstance(part, ast.Attribute) and part.attr in ("__dict__", "__setattr__"))
        for part in walk(node)
    )
