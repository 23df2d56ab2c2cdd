"""What the statement that a frame is at reads and assigns, from its bytecode."""

from __future__ import annotations

import dis
import functools
from types import CodeType, FrameType

_ENDS = ("POP_TOP", "RETURN", "JUMP", "POP_JUMP", "FOR_ITER", "YIELD", "RAISE", "LOAD_FAST_AND_CLEAR")


@functools.lru_cache(maxsize=512)
def _instructions(code: CodeType) -> list[dis.Instruction]:
    return list(dis.get_instructions(code))


@functools.lru_cache(maxsize=512)
def _lines(code: CodeType) -> dict[int, frozenset[str]]:
    names: dict[int, set[str]] = {}
    line = 0
    for instruction in _instructions(code):
        starts = getattr(instruction, "line_number", None) or instruction.starts_line
        line = starts if isinstance(starts, int) and not isinstance(starts, bool) else line
        if instruction.opname.startswith("LOAD_"):
            into = names.setdefault(line, set())
            loaded = instruction.argval
            into.update(
                name for name in (loaded if isinstance(loaded, tuple) else (loaded,)) if type(name) is str
            )
    return {line: frozenset(found) for line, found in names.items()}


def names_read(frame: FrameType) -> frozenset[str]:
    """The names and attributes that the line reads which a frame is at."""
    return _lines(frame.f_code).get(frame.f_lineno or 0, frozenset())


def names_assigned(frame: FrameType) -> set[str]:
    """The names that get the result of the call that a frame is waiting for, as far as they follow at
    once."""
    assigned: set[str] = set()
    for instruction in _instructions(frame.f_code):
        if instruction.offset <= frame.f_lasti:
            continue
        if instruction.opname.startswith("STORE_"):
            target = instruction.argval
            assigned.update(target if isinstance(target, tuple) else (target,))
        elif assigned or instruction.opname.startswith(_ENDS):
            break
    return {name for name in assigned if type(name) is str}


@functools.lru_cache(maxsize=512)
def names_copied(code: CodeType) -> dict[str, list[tuple[str, int]]]:
    """Each name that statements such as `kept = result` bind, with the other name and where they do."""
    copied: dict[str, list[tuple[str, int]]] = {}
    before = ("", "")
    for instruction in _instructions(code):
        for step in _steps(instruction):
            if step[0] == "STORE" and before[0] == "LOAD" and step[1] != before[1]:
                copied.setdefault(step[1], []).append((before[1], instruction.offset))
            before = step
    return copied


def _steps(instruction: dis.Instruction) -> list[tuple[str, str]]:
    """What an instruction does with names: some do two things at once."""
    kinds = [word for word in instruction.opname.split("_") if word in ("LOAD", "STORE")]
    named = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    if kinds and len(kinds) == len(named) and all(type(name) is str for name in named):
        return (
            [(kind, name) for kind, name in zip(kinds, named)] if _of_variables(instruction) else [("", "")]
        )
    return [] if instruction.opname in ("NOP", "EXTENDED_ARG", "CACHE") else [("", "")]


def _of_variables(instruction: dis.Instruction) -> bool:
    return instruction.opname.split("_")[1] in ("FAST", "NAME", "GLOBAL", "DEREF")
