"""`wrap(runner, ...)`: a captured runner that tells the sentinel what only its author knows.

Nothing happens in a call while nobody judges: `judges` is empty unless a watch is open.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
Inputs = Mapping[str, Any]


@dataclass(slots=True)
class Call:
    """One call of a wrapped runner, the `ordinal`th from 1, and what is declared of it.

    `inputs` are tensors, by name, that are written before every call; of each the rows from `real_rows` on
    are padding (None: no padding is declared). `eager` does what the runner does without a graph.
    """

    runner: Callable[..., Any]
    name: str
    ordinal: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: Inputs = field(default_factory=dict)
    real_rows: int | None = None
    eager: Callable[..., Any] | None = None

    def again(self) -> Any:
        """Call the runner once more with the same arguments, unseen by the judges."""
        return self.runner(*self.args, **self.kwargs)

    def eagerly(self) -> Any:
        """Call the eager twin with the same arguments."""
        assert self.eager is not None
        return self.eager(*self.args, **self.kwargs)


class Judge(Protocol):
    """A check that looks at calls of wrapped runners; what it raises is raised in the program."""

    def before(self, call: Call) -> None:
        """Look at a call that is about to be made."""

    def failed(self, call: Call) -> None:
        """Put back what `before` has changed: the call has raised an error."""

    def after(self, call: Call, result: Any) -> None:
        """Look at a call that has returned; memory must be left as the call has left it."""


judges: list[Judge] = []


class Wrapped(Generic[P, R]):
    """The runner, to be used in its place: it is called with the same arguments and has its attributes."""

    def __init__(
        self,
        runner: Callable[P, R],
        inputs: Inputs | Callable[[], Inputs],
        padding: int | Callable[..., int] | None,
        eager: Callable[..., Any] | None,
    ) -> None:
        functools.update_wrapper(cast("Any", self), runner, updated=())
        self._runner = runner
        self._inputs = inputs
        self._padding = padding
        self._eager = eager
        self._calls = 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        self._calls += 1
        if not judges:
            return self._runner(*args, **kwargs)
        present = tuple(judges)
        call = self._declared(args, kwargs)
        for judge in present:
            judge.before(call)
        try:
            result = self._runner(*args, **kwargs)
        except BaseException:
            for judge in present:
                judge.failed(call)
            raise
        for judge in present:
            judge.after(call, result)
        return result

    def __getattr__(self, name: str) -> Any:
        if name == "_runner":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self._runner, name)

    def _declared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        runner, padding = self._runner, self._padding
        inputs = self._inputs() if callable(self._inputs) else self._inputs
        rows = padding(*args, **kwargs) if callable(padding) else padding
        name = getattr(runner, "__qualname__", type(runner).__qualname__)
        return Call(runner, name, self._calls, args, kwargs, _named(inputs), rows, self._eager)


def wrap(
    runner: Callable[P, R],
    *,
    inputs: Inputs | Callable[[], Inputs] | None = None,
    padding: int | Callable[..., int] | None = None,
    eager: Callable[..., Any] | None = None,
) -> Wrapped[P, R]:
    """Return a captured runner together with what is known of it, for the checks of an open watch.

    `inputs` are the tensors that are written before every call, by name, or a function that gives them anew.
    `padding` is the number of real rows of these inputs, or a function that is given the arguments of a call
    and returns it: what is in the other rows must not matter. `eager` is given the same arguments and returns
    the same result without a graph. Raises TypeError where `inputs` has no names.
    """
    if inputs is not None and not callable(inputs):
        _named(inputs)
    return Wrapped(runner, inputs or {}, padding, eager)


def _named(inputs: object) -> dict[str, Any]:
    if not isinstance(inputs, Mapping):
        raise TypeError(f"`inputs` are tensors by name, such as {{'x': x}}, not {type(inputs).__name__}")
    return dict(inputs)
