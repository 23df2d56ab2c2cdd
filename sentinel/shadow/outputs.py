"""Where a captured body leaves its tensors: the names, attributes and items it assigns, and gradients."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable
from typing import Any

import torch

from graphlint.sentinel.hoststate.living import living
from graphlint.sentinel.hoststate.memory import Change
from graphlint.sentinel.shadow.source import RETURNED, evaluated
from graphlint.sentinel.trials.compare import tensors_in


def of_targets(targets: list[str], names: dict[str, Any], module: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors that the targets of a body hold, by what the program calls them."""
    found: dict[str, torch.Tensor] = {}
    for target in targets:
        try:
            value = evaluated(target, names, module)
        except Exception:  # a name without a value, an item that is not there
            continue
        found |= dict(tensors_in("the returned value" if target == RETURNED else target, value, 0))
    return found


def changed_tensors(changed: Iterable[Change], added: Iterable[tuple[str, Any]]) -> set[str]:
    """Paths at which a capture has left a tensor that was not there."""
    now = {change.path for change in changed if change.now.kind == "tensor"}
    return now | {path for path, value in added if isinstance(value, torch.Tensor)}


def below(paths: Iterable[str], names: Iterable[str]) -> set[str]:
    """The paths that begin with one of these names.

    Names that a body in a module's own code assigns are globals at the capture, and locals when it runs
    again: what the module has under them is not what the second run has made.
    """
    return {path for path in paths if re.split(r"[.\[]", path, maxsplit=1)[0] in set(names)}


def gradients(ungraded: list[tuple[str, weakref.ref[torch.Tensor]]]) -> dict[str, torch.Tensor]:
    """Gradients of the tensors that had none when the capture began."""
    found = {}
    for path, reference in ungraded:
        tensor = living(reference)
        if tensor is not None and tensor.grad is not None:
            found[f"{path}.grad"] = tensor.grad
    return found
