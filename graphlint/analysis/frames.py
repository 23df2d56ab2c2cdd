"""Calls in progress: where each is, what it has returned so far, and the places shown in chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.analysis.certainty import Certainty
from graphlint.analysis.heap import Snapshot
from graphlint.analysis.values import Env, Function, Value
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import per_node
from graphlint.finding import Hop, Span

if TYPE_CHECKING:
    from graphlint.facts.modules import ModuleFile


# Turning a tree into text again costs the square of a chain's length: beyond this the file is quoted.
LONGEST = 1000


# Frozen it would be, if setting the fields of a frozen class did not take three times as long: places are
# made for almost every expression.
@dataclass(slots=True, eq=False)
class Place:
    """A node in a file, inside a function; never changed."""

    module: ModuleFile
    node: ast.AST
    function: str

    @classmethod
    def of(cls, function: Function) -> Place:
        """Where a function is defined."""
        return cls(function.module, function.node, function.qualname)

    @property
    def path(self) -> str:
        return self.module.display

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 1)

    @property
    def span(self) -> Span:
        return self.module.source.span(self.node)

    @property
    def text(self) -> str:
        """The source of the node on one line; of a very long one only the beginning."""
        known: str | None = self.node.__dict__.get("_quoted")  # a node is in one file only
        if known is None or "_looks" in self.node.__dict__:
            known = self.node._quoted = self._quoted()  # type: ignore[attr-defined]
        return known

    def _quoted(self) -> str:
        span, source = self.span, self.module.source
        lines = [source.line(number) for number in range(span.line, span.end_line + 1)]
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        if sum(map(len, lines)) < LONGEST:
            return _unparsed(self.node)
        return " ".join(" ".join(lines)[:LONGEST].split())

    def at(self, node: ast.AST) -> Place:
        """Another node of the same function."""
        return Place(self.module, node, self.function)

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.path, self.line, getattr(self.node, "col_offset", 0))

    @property
    def hop(self) -> Hop:
        return Hop(self.path, self.line, self.function)


@dataclass(slots=True, eq=False)
class Condition:
    """A test that led here; `decided` tells whether the machine knew its answer.

    `doubt` is the most that may be claimed behind it, worked out when it is first asked for. `settles` are
    the answers that it implies of tests within it, by the identity of what they test.
    """

    place: Place
    value: Value
    polarity: bool
    decided: bool
    doubt: Certainty | None = None
    settles: tuple[tuple[object, bool], ...] = ()


@dataclass(slots=True, eq=False)
class KeptTest:
    """A test whose answer a local name keeps, the answer, and what the names in the test were then."""

    node: ast.expr
    answer: Value
    names: dict[str, Value | None]


@per_node
def _unparsed(node: ast.AST) -> str:
    return ast.unparse(node)


@dataclass(slots=True)
class Loop:
    """A loop in progress: the snapshots of its `break` and `continue` statements, and how far it is.

    `count` is how often the program runs it, None when that is not known. `sized` tells that its element,
    or a number computed from it, bounds a slice or a shape.
    """

    level: int
    place: Place
    count: int | None = None
    iterable: Value | None = None
    order: str = ""
    iteration: int = 0
    sized: bool = False
    current: Value | None = None
    breaks: list[Snapshot] = field(default_factory=list)
    continues: list[Snapshot] = field(default_factory=list)


@dataclass(slots=True)
class Frame:
    """One call of a project function, or the run of a module's top level."""

    module: ModuleFile
    env: Env
    qualname: str
    function: Function | None = None
    call: Place | None = None
    known_entry: Hop | None = None  # see `entry`
    level: int = 0
    returned: list[Value] = field(default_factory=list)
    exits: list[Snapshot] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    passed: list[Condition] = field(default_factory=list)  # tests by which the call would have left
    reachable: bool = True
    began: int = 0  # the machine's steps when it began
    excused: int = 0  # steps since then that are not its own fault
    sliced: bool = False  # whether it runs what one field depends on
    opened: tuple[int, int, int] | None = None  # what was open then; set for calls that can be cut short
    on_yield: Callable[[Value], Value] | None = None
    at_yield: ast.AST | None = None
    yielded: list[Value] = field(default_factory=list)
    globals_: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    statement: ast.AST | None = None
    tests: dict[str, KeptTest] = field(default_factory=dict)
    operands: dict[ast.BoolOp, list[tuple[ast.expr, Value]]] = field(
        default_factory=dict
    )  # as last evaluated
    born: int = 0  # earlier than everything that the call makes
    pinned: set[tuple[object, int]] = field(default_factory=set)  # numbers with one value from here on

    def place(self, node: ast.AST) -> Place:
        return Place(self.module, node, self.qualname)

    @property
    def entry(self) -> Hop:
        """The hop of its call, made once."""
        if self.known_entry is None:
            assert self.call is not None
            self.known_entry = self.call.hop
        return self.known_entry

    @property
    def in_doubt(self) -> bool:
        """Whether a test in this call that nobody could decide has led to where it is."""
        return bool(self.conditions) and not all([condition.decided for condition in self.conditions])

    @property
    def here(self) -> Place:
        """The place of the statement that is running."""
        return self.place(self.statement or self.module.source.tree)


def owner_of(function: Function, env: Env) -> Value | None:
    """The object that a method runs on, also where a wrapper hands it on as the first argument."""
    if function.self_value is not None or function.cls is None:
        return function.self_value
    return next((each for each in env.fields.values() if isinstance(each, Value)), None)


class CutShort(Exception):
    """Leaves the call of a frame that takes more than its share."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame
