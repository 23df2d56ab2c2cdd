"""Abstract values: what the machine knows about a Python value without running the program.

Values that have state (objects, containers, streams, graphs) keep it in `fields`, a plain dict
that is only written through the heap, so that undecided branches can be tried and joined.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, final

from graphlint.analysis.symbols import unique
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.classes import ClassInfo
    from graphlint.analysis.frames import Place
    from graphlint.facts.modules import ModuleFile

MAX_ALTERNATIVES = 8
MOST_OBJECTS = 24
_serial = itertools.count(1)


def now() -> int:
    """A number later than the serial of every value made so far."""
    return next(_serial)


Fields = dict[Any, Any]
Cell = tuple[int, Any]
"""A place that holds a value: the identity of a `fields` dict and a key in it."""

NO_CELLS: frozenset[Cell] = frozenset()


class Change(IntEnum):
    """How a host value behaves from one call of the program's step to the next."""

    CONSTANT = 0
    CONFIG = 1
    SHAPE = 2
    CHANGING = 3


class Value:
    """The root of all abstract values.

    Its kinds have none below them. `type(value) is Tensor` says what `isinstance` does, several times as fast
    where the answer is no, as it mostly is: so it is asked wherever values are told apart often.
    """

    __slots__ = ()


COMPUTED = "computed"
"""Why the result of host arithmetic on unknown values is unknown; it is never None."""
RESULT = "result of "
"""How the reason begins why the result of a call is unknown."""


# What `typed` of an unknown value says when it was moved to a device: it is as new as a copy.
MOVED = "moved"
# ... and once an operation has taken it, so that it is a tensor.
TAKEN = "moved, and taken by an operation"
# ... and when it is the attribute `graph` of an unknown value: given a graph, it captures into it.
GRAPH_CONTEXT = "graph context"


@final
class Unknown(Value):
    """A value that could not be followed, and why; `typed` says what little is known of it.

    `among` are the objects that it is one of, where those are too many to be followed one by one.
    """

    __slots__ = ("among", "change", "reason", "serial", "typed")

    def __init__(
        self,
        reason: str = "",
        change: Change = Change.CONFIG,
        typed: str = "",
        among: tuple[Obj, ...] = (),
    ) -> None:
        self.among = among
        self.reason = reason
        self.change = change
        self.typed = typed
        self.serial = next(_serial)

    def __repr__(self) -> str:
        return f"Unknown({self.reason or self.typed})"


@final
class Const(Value):
    """A value that is known exactly: None, bool, number, text, dtype, enum member."""

    __slots__ = ("cells", "value")

    def __init__(self, value: Any, cells: frozenset[Cell] = NO_CELLS) -> None:
        self.value = value
        self.cells = cells

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


# The field in which a module keeps its mode; the symbol of a mode that nobody has set starts with it.
MODE = "training"

# The label of a module of a library that was made as a deep copy of another one.
COPY = "copy"
# The key of a cell that stands for no place: the number was drawn, or read off a clock, by captured code.
DRAWN = "drawn"
# The key of a cell that stands for the values in a storage, by its serial number.
CONTENT = "content"
OF_CHANCE: Cell = (0, DRAWN)
OF_CLOCK: Cell = (1, DRAWN)


@final
class Host(Value):
    """A number or text on the host whose value is not known.

    `symbol` identifies the value: two hosts with equal symbols are equal. `cells` are the
    places that it was read from, so that a later write to one of them can be blamed.
    """

    __slots__ = ("cells", "change", "kind", "symbol")

    def __init__(
        self,
        kind: str = "any",
        change: Change = Change.CONFIG,
        symbol: Any = None,
        cells: frozenset[Cell] = NO_CELLS,
    ) -> None:
        self.kind = kind
        self.change = change
        self.symbol = unique(symbol) if symbol is not None else next(_serial)
        self.cells = cells

    def __repr__(self) -> str:
        return f"Host({self.kind}, {self.change.name})"


class Storage:
    """A block of memory, told apart by where and when it was made.

    `graph` is the graph in whose capture it was allocated; `replaced` holds the places where the
    program swapped the memory behind a tensor that keeps its name (`p.data = t`), each with its latest time;
    `version` counts the writes in place.
    """

    __slots__ = (
        "changing",
        "device",
        "graph",
        "owner",
        "replaced",
        "serial",
        "site",
        "sources",
        "stream",
        "version",
    )

    def __init__(self, device: str | None, site: Place | None, graph: Obj | None = None) -> None:
        self.device = device
        self.site = site
        self.graph = graph
        self.changing = False
        self.owner = ""
        self.replaced: dict[object, tuple[Place, int]] = {}
        self.version = 0
        self.stream: Obj | None = None
        self.sources: frozenset[Storage] = frozenset()  # what eager code has computed it from
        self.serial = next(_serial)


@final
class Tensor(Value):
    """A tensor: its storage, device (`cuda`, `cpu`, `pinned`, `either`, None = unknown), kind and rank.

    `kind` is `float`, `int`, `byte`, `bool` or None; `ndim` is None when unknown. `stamp` is the replay
    count of the storage's graph when this alias was taken. `library` is the one whose array it is, empty for
    torch. `part` is the index by which it was taken from a larger one, None for all of it.
    """

    __slots__ = (
        "kept",
        "kind",
        "library",
        "ndim",
        "parameter",
        "part",
        "received",
        "shape",
        "stamp",
        "storage",
        "strided",
        "taken",
        "through",
        "trained",
    )

    def __init__(
        self,
        storage: Storage,
        kind: str | None = None,
        ndim: int | None = None,
        *,
        stamp: int = 0,
        taken: Place | None = None,
        parameter: bool = False,
        shape: tuple[Value, ...] | None = None,
    ) -> None:
        self.storage = storage
        self.kind = kind
        self.ndim = ndim
        self.stamp = stamp
        self.taken = taken
        self.kept: Place | None = None
        self.received: Place | None = None
        self.parameter = parameter
        self.shape = shape
        self.library = ""
        self.part: Value | None = None
        self.trained = False  # certainly: a gradient flows back through it
        self.through: frozenset[Obj] = (
            frozenset()
        )  # ... and through operations that these graphs have recorded
        self.strided = False  # a view with other strides, which `contiguous` copies

    @property
    def device(self) -> str | None:
        return self.storage.device

    @property
    def on_device(self) -> bool:
        return self.storage.device in ("cuda", None)

    def alias(self, kind: str | None = None, ndim: int | None = None) -> Tensor:
        made = Tensor(self.storage, kind or self.kind, ndim, stamp=self.stamp, taken=self.taken)
        made.received = self.kept or self.received  # a view is kept where what it is of is
        made.library, made.part, made.strided = self.library, self.part, self.strided
        made.trained, made.through = self.trained, self.through
        return made

    def __repr__(self) -> str:
        return f"Tensor({self.device}, {self.kind}, ndim={self.ndim}, #{self.storage.serial})"


@final
class Obj(Value):
    """An instance of a project class or of a modelled library class (`cls` is then its dotted name)."""

    __slots__ = ("cls", "fields", "label", "serial", "site")

    def __init__(self, cls: ClassInfo | str, site: Place | None = None, label: str = "") -> None:
        self.cls = cls
        self.fields: Fields = {}
        self.site = site
        self.label = label
        self.serial = next(_serial)

    def is_a(self, dotted: str) -> bool:
        if isinstance(self.cls, str):
            return self.cls == dotted
        return self.cls.derives_from(dotted)

    def __repr__(self) -> str:
        return f"Obj({self.cls if isinstance(self.cls, str) else self.cls.name}#{self.serial})"


@final
class Sequence_(Value):
    """A list, tuple, set or deque: known `items` in order and perhaps a `rest` of like elements."""

    __slots__ = ("change", "fields", "identity", "kind", "length", "serial", "site")
    MOST_ITEMS = 50_000  # more are known as like elements only

    def __init__(
        self,
        items: Iterable[Value] = (),
        kind: str = "list",
        rest: Value | None = None,
        change: Change = Change.CONFIG,
        site: Place | None = None,
    ) -> None:
        known = tuple(items)
        if len(known) > self.MOST_ITEMS:
            known, rest = (), join_all([*known, *([rest] if rest is not None else [])])
        self.fields: Fields = {"items": known, "rest": rest}
        self.identity: tuple[tuple[Value, ...], Any] | None = None  # of a tuple: of which items, and which
        self.length: int | None = None  # of a range whose numbers are not kept one by one
        self.kind = kind
        self.change = change
        self.site = site
        self.serial = next(_serial)

    @property
    def items(self) -> tuple[Value, ...]:
        return self.fields["items"]  # type: ignore[no-any-return]

    @property
    def rest(self) -> Value | None:
        return self.fields["rest"]  # type: ignore[no-any-return]

    def elements(self) -> tuple[Value, ...]:
        return self.items if self.rest is None else (*self.items, self.rest)

    def __repr__(self) -> str:
        return f"{self.kind}{list(self.items)!r}+{self.rest!r}"


@final
class SliceValue(Value):
    """`lower:upper:step` as an index."""

    __slots__ = ("lower", "step", "upper")

    def __init__(self, lower: Value, upper: Value, step: Value) -> None:
        self.lower = lower
        self.upper = upper
        self.step = step

    @property
    def bounds(self) -> tuple[Value, ...]:
        return (self.lower, self.upper, self.step)


@final
class Mapping(Value):
    """A dict: `fields` maps key identities to `(key, value)`; `("rest",)` joins unknown keys.

    `("any",)` is never in `fields`: it is the cell of reads and writes by a key that is not known.
    """

    __slots__ = ("factory", "fields", "serial", "site", "weak")

    REST = ("rest",)
    ANY = ("any",)

    def __init__(self, site: Place | None = None, factory: Value | None = None) -> None:
        self.fields: Fields = {}
        self.factory = factory
        self.site = site
        self.weak = False  # whether it holds its values weakly
        self.serial = next(_serial)

    def entries(self) -> list[tuple[Value, Value]]:
        return [entry for key, entry in self.fields.items() if entry is not None]

    def __repr__(self) -> str:
        return f"dict({list(self.fields)!r})"


class Env:
    """Local names of a call, with the environment that encloses it; `cls` when it is a class body's."""

    __slots__ = ("cls", "fields", "module", "parent")

    def __init__(self, module: ModuleFile, parent: Env | None = None, cls: ClassInfo | None = None) -> None:
        self.fields: Fields = {}
        self.module = module
        self.parent = parent
        self.cls = cls

    def parents(self) -> Iterator[Env]:
        """The environments around this one, the nearest first."""
        env = self.parent
        while env is not None:
            yield env
            env = env.parent


@final
class Function(Value):
    """A function of the project, perhaps bound to `self_value`, with the names it closes over."""

    __slots__ = ("cls", "defaults", "env", "module", "node", "qualname", "self_value")

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        module: ModuleFile,
        env: Env | None,
        qualname: str,
        *,
        cls: ClassInfo | None = None,
        self_value: Value | None = None,
        defaults: dict[str, Value] | None = None,
    ) -> None:
        self.node = node
        self.module = module
        self.env = env
        self.qualname = qualname
        self.cls = cls
        self.self_value = self_value
        self.defaults = defaults

    def bind(self, value: Value) -> Function:
        return Function(
            self.node,
            self.module,
            self.env,
            self.qualname,
            cls=self.cls,
            self_value=value,
            defaults=self.defaults,
        )

    def __repr__(self) -> str:
        return f"Function({self.qualname})"


@final
class Partial(Value):
    """`functools.partial(function, *args, **kwargs)`."""

    __slots__ = ("args", "function", "kwargs")

    def __init__(self, function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs


@final
class Class(Value):
    """A class of the project as a value."""

    __slots__ = ("info",)

    def __init__(self, info: ClassInfo) -> None:
        self.info = info

    def __repr__(self) -> str:
        return f"Class({self.info.name})"


@final
class External(Value):
    """Something that lives outside the project, by its dotted name; `owner` is set for methods."""

    __slots__ = ("name", "owner")

    def __init__(self, name: str, owner: Value | None = None) -> None:
        self.name = name
        self.owner = owner

    def __repr__(self) -> str:
        return f"External({self.name})"


@final
class Module(Value):
    """A module of the project."""

    __slots__ = ("file",)

    def __init__(self, file: ModuleFile) -> None:
        self.file = file


@final
class Union(Value):
    """One of several values, at most `MAX_ALTERNATIVES`.

    `chosen_by` is a test whose answer tells whether the value is None, and the answer when it is.
    """

    __slots__ = ("chosen_by", "values")

    def __init__(self, values: tuple[Value, ...], chosen_by: tuple[Value, bool] | None = None) -> None:
        self.values = values
        self.chosen_by = chosen_by

    def __repr__(self) -> str:
        return "|".join(map(repr, self.values))


# What captures and replays leave alone: no number, no tensor, and nothing that holds one.
INERT = frozenset({Function, Class, External, Module})
NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)


def as_integer(value: Unknown) -> Host:
    """An unknown value that is used as a size: the same unknown value is the same number."""
    return Host("int", value.change, ("unknown", value.serial))


def is_none(value: Value | None) -> bool:
    """Whether a value is certainly None; an argument or field that is not there counts as None."""
    return value is None or (type(value) is Const and value.value is None)


def alternatives(value: Value) -> tuple[Value, ...]:
    """The values that `value` may be."""
    return value.values if type(value) is Union else (value,)


def join(left: Value, right: Value) -> Value:
    """The value that is either `left` or `right`; too many alternatives become unknown.

    Of very many results of one graph some are kept: what is done with any of them is the same.
    """
    if left is right:
        return left
    if type(left) not in _SEVERAL and type(right) not in _SEVERAL:
        return left if same(left, right) else Union((left, right))
    kept: list[Value] = []
    for value in (*_unfolded(left), *_unfolded(right)):
        for other in kept:
            if type(value) is type(other) and same(value, other):
                break
        else:
            kept.append(value)
    if len(kept) == 1:
        return kept[0]
    if len(kept) > MAX_ALTERNATIVES:
        return _without_some_results(kept) or _too_many(kept)
    return Union(tuple(kept))


_SEVERAL = frozenset({Union, Unknown})


def _unfolded(value: Value) -> tuple[Value, ...]:
    """The alternatives of a value, those of an object that is one of very many included."""
    return value.among if type(value) is Unknown and value.among else alternatives(value)


def _without_some_results(kept: list[Value]) -> Union | None:
    """Fewer alternatives, where most are tensors of one kind that the same captured code has made."""
    tensors = [each for each in kept if type(each) is Tensor]
    first = next((each for each in tensors if each.storage.graph is not None), None)
    if first is None:
        return None
    made = [each for each in tensors if _is_made_like(each, first)]
    others = [each for each in kept if not any(each is one for one in made)]
    if len(others) > len(made):
        return None
    return Union((*others, *made[: MAX_ALTERNATIVES - len(others)]))


def _is_made_like(one: Tensor, other: Tensor) -> bool:
    return (
        one.storage.graph is other.storage.graph
        and one.device == other.device
        and one.kind == other.kind
        and one.library == other.library
    )


def _too_many(kept: list[Value]) -> Unknown:
    """One of more values than are followed; of objects of the project it is kept which, one of a class."""
    objects: dict[int, Obj] = {}
    for part in kept:
        if type(part) is Obj and not isinstance(part.cls, str):
            objects.setdefault(id(part.cls), part)
        elif not is_none(part):
            return Unknown("more than eight alternatives")
    among = tuple(objects.values()) if len(objects) <= MOST_OBJECTS else ()
    return Unknown("more than eight alternatives", among=among)


def join_all(values: Iterable[Value]) -> Value:
    """The join of all `values`; `Unknown` when there are none."""
    joined: Value | None = None
    for value in values:
        joined = value if joined is None else join(joined, value)
    return joined if joined is not None else Unknown("no value")


def same(left: Value, right: Value) -> bool:
    """Whether both are certainly the same value, so that a join keeps one of them."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if type(left) is Const and type(right) is Const:
        return type(left.value) is type(right.value) and left.value == right.value
    if type(left) is Host and type(right) is Host:
        return left.symbol == right.symbol
    if type(left) is Tensor and type(right) is Tensor:
        return left.storage is right.storage and left.stamp == right.stamp and left.kind == right.kind
    if type(left) is Function and type(right) is Function:
        return left.node is right.node and left.env is right.env and left.self_value is right.self_value
    if type(left) is External and type(right) is External:
        return left.name == right.name and left.owner is right.owner
    if type(left) is Class and type(right) is Class:
        return left.info is right.info
    return type(left) is Unknown and type(right) is Unknown and left.change == right.change
