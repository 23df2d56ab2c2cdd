"""The arguments of a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.analysis.values import Value


@dataclass(slots=True)
class Arguments:
    """The arguments of a call; `more` stands for an unknown number of further positional ones."""

    args: list[Value] = field(default_factory=list)
    kwargs: dict[str, Value] = field(default_factory=dict)
    more: Value | None = None
    more_kwargs: Value | None = None

    def get(self, index: int, name: str) -> Value | None:
        """The argument at a position or by keyword; None when it is not given."""
        if name in self.kwargs:
            return self.kwargs[name]
        if index < len(self.args):
            return self.args[index]
        return self.more

    def all(self) -> tuple[Value, ...]:
        extra = [self.more] if self.more is not None else []
        return (*self.args, *extra, *self.kwargs.values())
