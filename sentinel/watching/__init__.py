"""What looks at torch and tells the machine: adapters that replace attributes in place and put them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphlint.sentinel.findings import Finding
    from graphlint.sentinel.patches import Patches
    from graphlint.sentinel.watching.observer import Observer


def install(patches: Patches, found: Callable[[Finding], None]) -> Observer:
    """Replace what has to be replaced; `patches` knows how to undo it."""
    from graphlint.sentinel.watching import graphs
    from graphlint.sentinel.watching.observer import Observer
    from graphlint.sentinel.watching.steps import Steps

    observer = Observer(Steps(patches), found)
    graphs.install(patches, observer)
    return observer
