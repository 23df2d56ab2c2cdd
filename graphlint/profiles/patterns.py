"""Patterns over definitions: `package:function`, `package:Class.method`, `package:@decorator.method`.

The package decides which names are meant: those that it defines, and what other modules derive from or
decorate with what they import from it. All other parts may hold `*`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

_FORM = re.compile(
    r"(?P<package>[^\W\d]\w*(?:\.[^\W\d]\w*)*)"
    r":(?:(?P<owner>@?[\w*]+)\.)?(?P<name>@?[\w*]+)"
)


class PatternError(Exception):
    """A text that is no pattern."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Definitions of a name, directly in a module when `owner` is empty, else in classes of that kind."""

    package: str
    owner: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """The pattern that a text states. Raises PatternError."""
        form = _FORM.fullmatch(text)
        if form is None or (form["owner"] and form["name"].startswith("@")):
            raise PatternError(f"`{text}` is not of the form `package:Class.method`")
        return cls(form["package"], form["owner"] or "", form["name"])

    def __str__(self) -> str:
        return f"{self.package}:{self.owner}{'.' if self.owner else ''}{self.name}"

    @property
    def decorator(self) -> str:
        """The decorator that what is meant carries; empty when the pattern goes by names alone."""
        part = self.owner or self.name
        return part[1:] if part.startswith("@") else ""

    def names(self, name: str) -> bool:
        """Whether a function, method or field may be meant, by its own name."""
        return name == self.name or self.name.startswith("@") or _matches(name, self.name)

    def names_any(self, names: frozenset[str]) -> bool:
        """Whether one of many names may be meant."""
        return self.name in names if self.is_plain else any(map(self.names, names))

    @property
    def is_plain(self) -> bool:
        """Whether only a definition of exactly this name may be meant."""
        return not self.name.startswith("@") and "*" not in self.name

    def owns(self, name: str) -> bool:
        """Whether a class of this name is one of those meant."""
        return bool(self.owner) and _matches(name, self.owner)

    def belongs(self, dotted: str) -> bool:
        """Whether a module of this name lies in the package, wherever that itself lies."""
        return f".{self.package}." in f".{dotted}."


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) if "*" in pattern else name == pattern
