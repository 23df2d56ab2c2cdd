"""What every rule is: a name for one hazard, found statically and at run time under one code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from graphlint.finding import Confidence, Hop, Level

if TYPE_CHECKING:
    from graphlint.analysis.events import Event
    from graphlint.analysis.frames import Place

HAZARDS = (
    "rebind-static-input",
    "stale-output",
    "sync-in-capture",
    "implicit-sync",
    "host-branch-on-device",
    "dynamic-shape",
    "frozen-scalar",
    "side-effect",
    "stream-escape",
    "thread-mode",
    "rng-unregistered",
    "pool-misuse",
    "capture-order",
    "stale-pointer",
    "pageable-copy",
    "missing-warmup",
    "jit-in-capture",
    "alloc-in-capture",
    "training",
    "other",
)


@dataclass(frozen=True, slots=True)
class Report:
    """What a rule says of an event: where, what, how sure; level and chain default to the event's."""

    place: Place
    message: str
    confidence: Confidence = Confidence.DEFINITE
    level: Level | None = None
    chain: tuple[Hop, ...] = ()
    help: str = ""


class Rule:
    """A hazard of the catalogue: permanent `code`, kebab-case `name`, family, default level, one sentence.

    `rows` are the rows of `tables/hazards.toml` that the rule finds, in whole or in part.

    A subclass lives in a module of its own that carries the name in snake case; its page is the Markdown
    file beside it. The registry finds it there; nothing else has to know about a new rule.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    hazard: ClassVar[str]
    level: ClassVar[Level]
    summary: ClassVar[str]
    rows: ClassVar[tuple[str, ...]] = ()
    subscribes: ClassVar[tuple[type[Event], ...]] = ()

    def on(self, event: Any) -> Iterator[Report]:
        """Judge one event of a subscribed kind; events of one root come in the program's order."""
        return iter(())

    def at_end(self) -> Iterator[Report]:
        """Report what only the whole run of a root shows."""
        return iter(())

    @classmethod
    def page(cls) -> Path:
        """Return where the rule's page is, whether or not it exists."""
        module = sys.modules[cls.__module__]
        assert module.__file__ is not None
        return Path(module.__file__).with_suffix(".md")

    @classmethod
    def advice(cls) -> str:
        """Return what helps against the hazard in general, the `HELP` of the rule's module if it has one."""
        return str(getattr(sys.modules[cls.__module__], "HELP", ""))
