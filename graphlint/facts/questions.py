"""Questions about one file whose answers stay the same under most changes of it.

Whoever asks rests on the answer, not on what was looked at to give it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from graphlint.facts.modules import ModuleFile

ANSWER = "answer "
"""What the part of an answer is called: this, the question and its argument."""
_Answer = TypeVar("_Answer")


def question(ask: Callable[[ModuleFile, str], _Answer]) -> Callable[[ModuleFile, str], _Answer]:
    """Make a function of a module and a name a question: its answer is kept and tells what to rest on.

    The answer must depend on nothing but the module; `repr` of it must say all of it, in a fixed order.
    """
    name = f"{ask.__module__}:{ask.__qualname__}"

    @functools.wraps(ask)
    def asked(module: ModuleFile, argument: str) -> _Answer:
        part = f"{ANSWER}{name} {argument}"
        module.look_at(part)
        if part not in module.answers:
            with module.looks.aside():
                module.answers[part] = ask(module, argument)
        return module.answers[part]  # type: ignore[no-any-return]

    return asked


def answer(module: ModuleFile, asked: str) -> object:
    """The answer to a question by its name and argument, as they stand in the name of the part."""
    name, _, argument = asked.partition(" ")
    home, _, function = name.partition(":")
    return getattr(importlib.import_module(home), function)(module, argument)
