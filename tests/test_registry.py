"""How rules are found, and what selectors and names of rules mean."""

from __future__ import annotations

import pytest

from graphlint.rules.registry import UnknownSelectorError, all_rules, find, resolve_selector


def test_rules_come_in_the_order_of_their_codes() -> None:
    codes = [rule.code for rule in all_rules()]
    assert codes == sorted(codes)
    assert {"CG900", "CG901", "CG902", "CG903"} <= set(codes)


@pytest.mark.parametrize("text", ["CG901", "cg901", "unused-suppression", " CG901 "])
def test_a_rule_is_found_by_code_and_by_name(text: str) -> None:
    rule = find(text)
    assert rule is not None and rule.code == "CG901"


@pytest.mark.parametrize("text", ["CG9", "", "CG", "unused", "CG9010"])
def test_a_part_of_a_name_finds_nothing(text: str) -> None:
    assert find(text) is None


@pytest.mark.parametrize(
    ("selector", "prefix"),
    [
        ("ALL", ""),
        ("all", ""),
        ("CG", "CG"),
        ("CG3", "CG3"),
        ("cg90", "CG90"),
        ("unused-suppression", "CG901"),
    ],
)
def test_what_selectors_stand_for(selector: str, prefix: str) -> None:
    assert resolve_selector(selector) == prefix


@pytest.mark.parametrize("selector", ["", "CG0", "CG99", "CG999", "CG9000", "E501", "nonsense"])
def test_selectors_that_stand_for_nothing(selector: str) -> None:
    with pytest.raises(UnknownSelectorError, match="unknown rule"):
        resolve_selector(selector)
