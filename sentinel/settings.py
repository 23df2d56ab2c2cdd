"""What was asked of the sentinel: in words on a command line, in an environment variable, in an ini-file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeVar, cast

Mode = Literal["watch", "canary", "test"]
T = TypeVar("T")

MODES: tuple[Mode, ...] = ("watch", "canary", "test")
ON: Final = "on"
OFF: Final = "off"
VARIABLE = "GRAPHLINT_SENTINEL"
_WORDS = (*MODES, ON, OFF, "virtual", "warn")


class SettingsError(ValueError):
    """A setting that cannot be used; the message says which, and what is possible."""


class Request(NamedTuple):
    """A wish to watch, or not to (`"off"`); None is what it says nothing about."""

    mode: Mode | Literal["off"] | None = None
    virtual: bool | None = None
    warn: bool | None = None


def request_of(text: str, where: str) -> Request | None:
    """Return what words with commas between ask for, such as `test,virtual`; None where there are none.

    Raises SettingsError for a word that is unknown or contradicts another, naming `where` it stands.
    """
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in _WORDS:
            raise SettingsError(f"{where}: unknown word `{word}`{_nearest(word)}")
    modes = [word for word in words if word in (*MODES, OFF)]
    if len(modes) > 1:
        raise SettingsError(f"{where}: `{modes[0]}` and `{modes[1]}` exclude each other")
    if not words:
        return None
    mode = cast("Mode", modes[0]) if modes else None
    return Request(mode, True if "virtual" in words else None, True if "warn" in words else None)


def request_in(environment: Mapping[str, str]) -> Request | None:
    """Return what GRAPHLINT_SENTINEL asks for, None where it is not set. Raises SettingsError."""
    return request_of(environment.get(VARIABLE, ""), VARIABLE)


def merged(requests: Iterable[Request | None]) -> Request | None:
    """Return what several sources ask for together, the strongest first; None where that is: not to watch.

    The first that says anything decides whether to watch, and for each part the first that speaks of it.
    """
    stated = [request for request in requests if request is not None]
    if not stated or stated[0].mode == OFF:
        return None
    modes = [request.mode for request in stated if request.mode != OFF]
    virtual = _first(request.virtual for request in stated)
    return Request(_first(modes) or "watch", bool(virtual), bool(_first(request.warn for request in stated)))


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)


def _nearest(word: str) -> str:
    import difflib  # only for those who mistype

    near = difflib.get_close_matches(word, _WORDS, n=1)
    return f"; did you mean `{near[0]}`?" if near else f"; known words: {', '.join(_WORDS)}"
