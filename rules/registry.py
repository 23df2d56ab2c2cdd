"""Finds the rules of the catalogue and says what a selector such as `CG3` or `ALL` means."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from functools import cache

import graphlint.rules
from graphlint.rules.rule import Rule

# A family may be named before its first rule exists: configurations outlive versions.
_PREFIX = re.compile(r"CG([1-9]\d{0,2})?")


class UnknownSelectorError(ValueError):
    """A selector that names no rule; the message says which one was probably meant."""


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """Return every rule of the catalogue, in the order of their codes."""
    found: set[type[Rule]] = set()
    for module_info in pkgutil.iter_modules(graphlint.rules.__path__, "graphlint.rules."):
        module = importlib.import_module(module_info.name)
        found.update(value for value in vars(module).values() if _is_rule_of(module.__name__, value))
    return tuple(sorted(found, key=lambda rule: rule.code))


def _is_rule_of(module: str, value: object) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, Rule)
        and value.__module__ == module
        and hasattr(value, "code")
    )


def find(code_or_name: str) -> type[Rule] | None:
    """Return the rule of this code or name; letter case does not matter."""
    wanted = code_or_name.strip().lower()
    return next((rule for rule in all_rules() if wanted in (rule.code.lower(), rule.name)), None)


def resolve_selector(selector: str) -> str:
    """Return the code prefix that a selector stands for: `""` for ALL, a full code for a name.

    Raises UnknownSelectorError for a code, name or family that does not exist.
    """
    text = selector.strip()
    if text.upper() == "ALL":
        return ""
    rule = find(text)
    if rule is not None:
        return rule.code
    prefix = text.upper()
    if _PREFIX.fullmatch(prefix) and (len(prefix) <= len("CG1") or _is_prefix_of_a_rule(prefix)):
        return prefix
    raise UnknownSelectorError(f"unknown rule `{selector}`{suggestion(text)}")


def _is_prefix_of_a_rule(prefix: str) -> bool:
    return len(prefix) < len("CG100") and any(rule.code.startswith(prefix) for rule in all_rules())


def suggestion(text: str) -> str:
    """Return what to add to "unknown rule": the rules of a prefix, the nearest code or name, or nothing."""
    family = [rule.code for rule in all_rules() if rule.code.startswith(text.upper())]
    if text and len(family) > 1:
        return f"; name a single one, {family[0]} to {family[-1]}"
    names = [word for rule in all_rules() for word in (rule.code, rule.name)]
    wanted = text.upper() if text.upper().startswith("CG") else text.lower()
    near = difflib.get_close_matches(wanted, [*names, "ALL"], n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""
