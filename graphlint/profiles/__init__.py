"""Profiles: what is known of a framework, as data. The files beside this one describe those that come along.

A profile is a table of TOML, here or under `[tool.graphlint.profile.NAME]` of a user. It must not import
anything of the analysis: the configuration reads profiles before there is one.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from graphlint.profiles.patterns import Pattern, PatternError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PATTERNS = ("captured", "compiled", "never", "guards", "holes", "transparent", "unfollowed")
KEYS = ("recognise", *PATTERNS, "operators", "assume", "stands_for", "lives", "device")
KEYS_OF_LIFE = ("class", "given", "filled", "between")
DEVICES = ("cuda", "cpu")
Constant = bool | int | float | str


class ProfileError(Exception):
    """A profile that cannot be used; the message says which part of it, and why."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A function that registers a custom operator.

    `name`, `body` and `library` are names of its parameters, in the order of `parameters`; an operator
    registered without a library is one of `namespace`.
    """

    function: Pattern
    namespace: str
    parameters: tuple[str, ...]
    name: str
    body: str
    library: str


@dataclass(frozen=True, slots=True)
class Life:
    """How programs use objects of a class: what constructors get, and what is called between replays.

    `given` are parameters with their constants, `filled` those that get a value instead of None.
    """

    cls: Pattern
    between: str
    given: tuple[tuple[str, Constant], ...]
    filled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of one framework; `recognise` are the packages whose presence switches it on."""

    name: str
    recognise: tuple[str, ...] = ()
    captured: tuple[Pattern, ...] = ()
    compiled: tuple[Pattern, ...] = ()
    never: tuple[Pattern, ...] = ()
    guards: tuple[Pattern, ...] = ()
    holes: tuple[Pattern, ...] = ()
    transparent: tuple[Pattern, ...] = ()
    unfollowed: tuple[Pattern, ...] = ()
    operators: tuple[Operator, ...] = ()
    assume: tuple[tuple[Pattern, Constant], ...] = ()
    stands_for: tuple[tuple[Pattern, str], ...] = ()
    lives: tuple[Life, ...] = ()
    device: str = ""


@cache
def built_in() -> Mapping[str, Profile]:
    """The profiles that come with graphlint, by name."""
    found = {}
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        found[file.stem] = profile_from(tomllib.loads(file.read_text(encoding="utf-8")), file.stem)
    return found


def named(names: Iterable[str], own: Iterable[Profile]) -> tuple[Profile, ...]:
    """The profiles of these names; a user's own stands before one of graphlint. Raises ProfileError."""
    known = {**built_in(), **{profile.name: profile for profile in own}}
    found = []
    for name in names:
        if name not in known:
            raise ProfileError(f"there is no profile `{name}`{_nearest(name, known)}")
        found.append(known[name])
    return tuple(found)


def require_recognised(own: Iterable[Profile]) -> None:
    """Raise ProfileError for a profile that no import switches on, unless it replaces one of graphlint."""
    for profile in own:
        if not profile.recognise and profile.name not in built_in():
            raise ProfileError(
                f"nothing switches profile `{profile.name}` on: give it `recognise`, the packages whose "
                "import does, or name it in `profiles`"
            )


def profile_from(table: object, name: str) -> Profile:
    """The profile that a table states. Raises ProfileError for what it must not hold."""
    if not isinstance(table, dict):
        raise ProfileError(f"profile `{name}` must be a table")
    for key in table:
        if key not in KEYS:
            raise ProfileError(f"unknown key `{key}` in profile `{name}`{_nearest(key, KEYS)}")
    patterns = {
        key: tuple(_pattern(text, key, name) for text in _texts(table, key, name)) for key in PATTERNS
    }
    device = table.get("device", "")
    if device and device not in DEVICES:
        raise ProfileError(f"`device` of profile `{name}` must be one of {', '.join(DEVICES)}")
    return Profile(
        name,
        _texts(table, "recognise", name),
        **patterns,
        operators=tuple(_operator(item, name) for item in _tables(table, "operators", name)),
        assume=_assumptions(table.get("assume", {}), name),
        stands_for=_stand_ins(table.get("stands_for", {}), name),
        lives=tuple(_life(item, name) for item in _tables(table, "lives", name)),
        device=device,
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.lower(), list(known), n=1)
    return f"; did you mean `{near[0]}`?" if near else f"; known: {', '.join(known)}"


def _texts(table: Mapping[str, object], key: str, name: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ProfileError(f"`{key}` of profile `{name}` must be a list of strings")
    return tuple(value)


def _pattern(text: str, key: str, name: str) -> Pattern:
    try:
        return Pattern.parse(text)
    except PatternError as error:
        raise ProfileError(f"`{key}` of profile `{name}`: {error}") from None


def _tables(table: Mapping[str, object], key: str, name: str) -> list[dict[str, object]]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ProfileError(f"`{key}` of profile `{name}` must be an array of tables")
    return value


def _operator(table: Mapping[str, object], name: str) -> Operator:
    words = {"function": "", "namespace": "", "name": "", "body": "", "library": ""}
    for key, value in table.items():
        if key not in words and key != "parameters":
            raise ProfileError(
                f"unknown key `{key}` in an operator of profile `{name}`{_nearest(key, words)}"
            )
        if key in words:
            if not isinstance(value, str):
                raise ProfileError(f"`{key}` in an operator of profile `{name}` must be a string")
            words[key] = value
    for key in ("function", "namespace", "name", "body"):
        if not words[key]:
            raise ProfileError(f"an operator of profile `{name}` has no `{key}`")
    function = _pattern(words.pop("function"), "operators", name)
    parameters = _texts(table, "parameters", name) or (words["name"], words["body"])
    return Operator(function, parameters=parameters, **words)


def _assumptions(value: object, name: str) -> tuple[tuple[Pattern, Constant], ...]:
    if not isinstance(value, dict):
        raise ProfileError(f"`assume` of profile `{name}` must be a table")
    return tuple((_pattern(text, "assume", name), each) for text, each in _constants(value, "assume", name))


def _constants(table: dict[str, object], key: str, name: str) -> Iterator[tuple[str, Constant]]:
    for text, constant in table.items():
        if not isinstance(constant, (bool, int, float, str)):
            raise ProfileError(f"`{key}` of profile `{name}`: `{text}` must be a boolean, number or string")
        yield text, constant


def _stand_ins(value: object, name: str) -> tuple[tuple[Pattern, str], ...]:
    """Names with what they stand for: an instance, `module:Class`, or a function of a library by its name."""
    if not isinstance(value, dict):
        raise ProfileError(f"`stands_for` of profile `{name}` must be a table")
    for text, meant in value.items():
        if not isinstance(meant, str):
            raise ProfileError(f"`stands_for` of profile `{name}`: `{text}` must name a class or function")
        if ":" in meant:
            _pattern(meant, "stands_for", name)
    return tuple((_pattern(text, "stands_for", name), meant) for text, meant in value.items())


def _life(table: Mapping[str, object], name: str) -> Life:
    for key in table:
        if key not in KEYS_OF_LIFE:
            raise ProfileError(
                f"unknown key `{key}` in `lives` of profile `{name}`{_nearest(key, KEYS_OF_LIFE)}"
            )
    cls, between, given = table.get("class"), table.get("between"), table.get("given", {})
    if not isinstance(cls, str) or not isinstance(between, str) or not isinstance(given, dict):
        raise ProfileError(f"`lives` of profile `{name}` needs `class` and `between`, and `given` as a table")
    constants = tuple(_constants(given, "given", name))
    return Life(_pattern(cls, "lives", name), between, constants, _texts(table, "filled", name))
