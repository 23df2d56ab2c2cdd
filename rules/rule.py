"""What every rule is: a name for one hazard, found statically and at run time under one code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

from graphlint.finding import Level

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


class Rule:
    """A hazard of the catalogue: permanent `code`, kebab-case `name`, family, default level, one sentence.

    A subclass lives in a module of its own that carries the name in snake case; its page is the Markdown
    file beside it. The registry finds it there; nothing else has to know about a new rule.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    hazard: ClassVar[str]
    level: ClassVar[Level]
    summary: ClassVar[str]

    @classmethod
    def page(cls) -> Path:
        """Return where the rule's page is, whether or not it exists."""
        module = sys.modules[cls.__module__]
        assert module.__file__ is not None
        return Path(module.__file__).with_suffix(".md")
