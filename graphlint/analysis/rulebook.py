"""Hands events to the rules that subscribe to them and turns their reports into findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from graphlint.analysis.certainty import Certainty
from graphlint.analysis.events import Event
from graphlint.finding import Confidence, Finding, Level
from graphlint.rules.registry import all_rules
from graphlint.rules.rule import Report, Rule

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.config import Config

_Key = tuple[str, int, int, str]
_Step = TypeVar("_Step")
_LEVELS = [Level.NOTE, Level.WARNING, Level.ERROR]
_CONFIDENCES = [Confidence.POSSIBLE, Confidence.LIKELY, Confidence.DEFINITE]


class Rulebook:
    """The rules of a run, each made anew for every root, and the findings so far."""

    def __init__(self, config: Config) -> None:
        self.classes = [rule for rule in all_rules() if rule.subscribes and config.is_enabled(rule.code)]
        self._subscribers: dict[type[Event], list[Rule]] = {}
        self._rules: list[Rule] = []
        self._found: dict[_Key, Finding] = {}

    def begin(self, machine: Machine) -> None:
        """Start a root: rules keep what they learn for one root only."""
        self._rules = [rule() for rule in self.classes]
        self._subscribers = {}
        for rule in self._rules:
            for kind in rule.subscribes:
                self._subscribers.setdefault(kind, []).append(rule)

    def listen(self, event: Event) -> None:
        for rule in self._subscribers.get(type(event), ()):
            for report in rule.on(event):
                self._add(rule, event, report)

    def finish(self) -> None:
        """End a root: rules that wait for the whole story report now."""
        for rule in self._rules:
            for report in rule.at_end():
                self._add(rule, None, report)

    def _add(self, rule: Rule, event: Event | None, report: Report) -> None:
        place = report.place
        certainty = (event.certainty if event is not None else None) or Certainty()
        level = _lower(_LEVELS, report.level or rule.level, certainty.level)
        confidence = _lower(_CONFIDENCES, report.confidence, certainty.confidence)
        chain = report.chain or (event.chain if event is not None else ())
        finding = Finding(
            place.path,
            place.span,
            rule.code,
            rule.name,
            rule.hazard,
            level,
            confidence,
            report.message,
            chain,
            report.help,
        )
        _keep(self._found, finding)

    def findings(self) -> list[Finding]:
        return best_of(self._found.values())


def best_of(findings: Iterable[Finding]) -> list[Finding]:
    """The best finding of each code at each place, in order."""
    found: dict[_Key, Finding] = {}
    for finding in findings:
        _keep(found, finding)
    return sorted(found.values(), key=lambda finding: finding.sort_key)


def _keep(found: dict[_Key, Finding], finding: Finding) -> None:
    key = (finding.path, finding.span.line, finding.span.column, finding.code)
    known = found.get(key)
    if known is None or _rank(finding) > _rank(known):
        found[key] = finding


def _lower(order: list[_Step], one: _Step, other: _Step) -> _Step:
    return order[min(order.index(one), order.index(other))]


def _rank(finding: Finding) -> tuple[int, int, int]:
    """Of two reports at one place the surer and then the one with the shorter chain is kept."""
    return (_CONFIDENCES.index(finding.confidence), _LEVELS.index(finding.level), -len(finding.chain))
