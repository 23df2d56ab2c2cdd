"""All checks, in the order in which each event is given to them."""

from __future__ import annotations

from graphlint.sentinel.core.inputs import InputsInPlace
from graphlint.sentinel.core.machine import Check

CHECKS: tuple[type[Check], ...] = (InputsInPlace,)
