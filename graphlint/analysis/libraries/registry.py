"""Where library models are registered: a model says what one library call does and returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphlint.analysis.arguments import Arguments
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.values import Const, Obj, Value
from graphlint.facts import nodes as ast

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine


@dataclass(slots=True)
class Call:
    """One call of something outside the project: its dotted name, owner for methods, arguments, place.

    `name` is the one that models and tables know, `written` the one that the program uses.
    """

    m: Machine
    name: str
    owner: Value | None
    arguments: Arguments
    place: Place
    frame: Frame
    written: str = ""

    @property
    def node(self) -> ast.AST:
        return self.place.node

    @property
    def args(self) -> list[Value]:
        return self.arguments.args

    @property
    def this(self) -> Obj:
        """The owner of a method of a library object; some instance of its class when it is not known."""
        if not isinstance(self.owner, Obj):
            self.owner = Obj(self.name.rpartition(".")[0], self.place)
        return self.owner

    def get(self, index: int, name: str) -> Value | None:
        return self.arguments.get(index, name)

    def text(self, index: int, name: str, default: str = "") -> str:
        """A constant string argument, or `default`."""
        value = self.get(index, name)
        return value.value if isinstance(value, Const) and isinstance(value.value, str) else default

    def flag(self, index: int, name: str) -> bool | None:
        """A constant boolean argument; None when it is not given or not known."""
        value = self.get(index, name)
        return bool(value.value) if isinstance(value, Const) else None


Model = Callable[[Call], Value]
MODELS: dict[str, Model] = {}


def model(*names: str) -> Callable[[Model], Model]:
    """Register a model for dotted names."""

    def register(function: Model) -> Model:
        for name in names:
            MODELS[name] = function
        return function

    return register
