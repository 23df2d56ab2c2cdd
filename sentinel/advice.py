"""What helps against a finding: the linter's words for the rule, or others where a check sees another side
of it."""

from __future__ import annotations

from graphlint.rules.registry import find

_OTHERWISE = {
    ("CG101", "consumed"): "write into the tensor that the graph reads, or capture with the declared one",
    ("CG106", "shadow"): "copy into the tensor that the graph reads, and leave its name alone",
    ("CG109", "canary"): "write every row of the input before each replay, also those with nothing new",
    ("CG109", "rewritten-inputs"): "write the input before each replay, also when there is nothing new",
    ("CG201", "abandoned-outputs"): "ask the runner for its output after each capture",
    ("CG502", "calls-in-capture"): "wait for a stream or an event, or hold a lock around both",
}


def help_for(code: str, check: str) -> str:
    """Return one sentence for a finding of a check, empty where there is nothing to say in general."""
    rule = find(code)
    return _OTHERWISE.get((code, check)) or (rule.advice() if rule is not None else "")
