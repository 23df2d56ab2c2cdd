"""Comments that accept a finding: `# graphlint: ignore[CG301] -- reason`, and `ignore-file[...]`.

They are read from tokens, so that a string which merely looks like one is none. What a comment covers:

- behind code: findings whose first or last line it stands on; where that line cannot hold a comment, because
  a string or a backslash runs over its end, the next line that can,
- on a line of its own: findings that start in the statement directly below, decorators included,
- `ignore-file`, on a line of its own: findings in the whole file.
"""

from __future__ import annotations

import io
import itertools
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from graphlint.finding import Confidence, Finding, Span
from graphlint.rules.registry import find, suggestion
from graphlint.rules.rule import Rule

MARK = b"graphlint:"
_COMMENT = re.compile(
    r"#\s*graphlint:\s*(?P<kind>ignore-file|ignore)\b(?!-)\s*(\[(?P<codes>[^\]]*)(?P<end>\])?)?"
)
_INVISIBLE = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE)


@dataclass(slots=True)
class Suppression:
    """One rule that a comment accepts, on `lines` or (None) in the whole file; `used` counts its findings.

    A comment above a statement (`is_above`) covers what starts there; one behind code also what ends there.
    """

    rule: type[Rule]
    span: Span
    lines: frozenset[int] | None
    is_above: bool = False
    used: int = 0

    def covers(self, finding: Finding, carrier: Callable[[int], int]) -> bool:
        if finding.code != self.rule.code:
            return False
        if self.lines is None:
            return True
        first = finding.span.line
        last = first if self.is_above else _last_line(finding.span)
        return bool({first, last, carrier(first), carrier(last)} & self.lines)


@dataclass(slots=True)
class Suppressions:
    """The suppressions of one file, and findings about comments that cannot take effect as written."""

    path: str
    entries: list[Suppression] = field(default_factory=list)
    faults: list[Finding] = field(default_factory=list)
    carriers: dict[int, int] = field(default_factory=dict)

    def apply(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that no comment accepts; the comments that accept one count it."""
        return [finding for finding in findings if not self._accept(finding)]

    def unused(self, is_enabled: Callable[[str], bool]) -> list[Finding]:
        """Return a CG901 finding for each entry that accepted nothing although its rule was on."""
        return [
            _finding("CG901", self.path, entry.span, f"no finding of `{entry.rule.code}` here to suppress")
            for entry in self.entries
            if not entry.used and is_enabled(entry.rule.code)
        ]

    def _accept(self, finding: Finding) -> bool:
        accepting = [entry for entry in self.entries if entry.covers(finding, self._carrier)]
        for entry in accepting:
            entry.used += 1
        return bool(accepting)

    def _carrier(self, line: int) -> int:
        while line in self.carriers:
            line = self.carriers[line]
        return line


def suppressions_of(path: str, text: str) -> Suppressions:
    """Return the suppressions in a file's text; a text that cannot be tokenised has none."""
    result = Suppressions(path)
    if "graphlint:" not in text:
        return result
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text, newline=None).readline))
    except (tokenize.TokenError, SyntaxError):
        return result
    result.carriers = _carriers(tokens)
    for index, token in enumerate(tokens):
        if token.type == tokenize.COMMENT:
            for match in _COMMENT.finditer(token.string):
                _add(result, match, _Site(tokens, index))
    return result


@dataclass(frozen=True, slots=True)
class _Site:
    """A comment among the tokens of its file."""

    tokens: Sequence[tokenize.TokenInfo]
    index: int

    @property
    def token(self) -> tokenize.TokenInfo:
        return self.tokens[self.index]

    @property
    def is_alone(self) -> bool:
        return not self.token.line[: self.token.start[1]].strip()

    def span(self, start: int, end: int) -> Span:
        line, column = self.token.start
        return Span(line, column + start + 1, line, column + end + 1)

    def lines(self) -> frozenset[int]:
        return self._statement_below() if self.is_alone else frozenset({self.token.start[0]})

    def _statement_below(self) -> frozenset[int]:
        """Return the lines of the statement that starts directly below, past other comments of the block."""
        expected = self.token.start[0] + 1
        lines: set[int] = set()
        for statement in _statements(self.tokens[self.index + 1 :]):
            first = statement[0]
            if first.type == tokenize.COMMENT and first.start[0] == expected:
                expected += 1
                continue
            if first.start[0] != expected:
                break
            lines.update(range(first.start[0], statement[-1].end[0] + 1))
            if first.string != "@":
                break
            expected = statement[-1].end[0] + 1
        return frozenset(lines)


def _statements(tokens: Iterable[tokenize.TokenInfo]) -> Iterator[list[tokenize.TokenInfo]]:
    """Yield the visible tokens of each logical line, and each comment between two of them by itself."""
    statement: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type == tokenize.NEWLINE and statement:
            yield statement
            statement = []
        elif token.type == tokenize.COMMENT and not statement:
            yield [token]
        elif token.type not in _INVISIBLE:
            statement.append(token)


def _carriers(tokens: Sequence[tokenize.TokenInfo]) -> dict[int, int]:
    """Return for each line that a string or a backslash continues the line that it continues on."""
    carriers: dict[int, int] = {}
    for before, token in itertools.pairwise(tokens):
        for line in range(token.start[0], token.end[0]):
            if token.type not in (tokenize.NEWLINE, tokenize.NL, tokenize.DEDENT, tokenize.INDENT):
                carriers[line] = token.end[0]
        is_joined = before.type not in _INVISIBLE and token.type not in (tokenize.NL, tokenize.ENDMARKER)
        for line in range(before.end[0], token.start[0]) if is_joined else ():
            carriers[line] = line + 1
    return carriers


def _add(result: Suppressions, match: re.Match[str], site: _Site) -> None:
    span = site.span(match.start(), match.end())
    in_file = match["kind"] == "ignore-file"
    if match["codes"] is None or not match["codes"].strip():
        reason = f"`{match['kind']}` names no rule and suppresses nothing; write `{match['kind']}[CGnnn]`"
    elif match["end"] is None:
        reason = f"`{match['kind']}[` has no closing bracket and suppresses nothing"
    elif in_file and not site.is_alone:
        reason = "`ignore-file` suppresses nothing behind code: give it a line of its own"
    else:
        lines = None if in_file else site.lines()
        _add_codes(result, match, site, lines)
        return
    result.faults.append(_finding("CG902", result.path, span, reason))


def _add_codes(result: Suppressions, match: re.Match[str], site: _Site, lines: frozenset[int] | None) -> None:
    for word in re.finditer(r"[^,\s][^,]*", match["codes"]):
        name = word[0].rstrip()
        start = match.start("codes") + word.start()
        span = site.span(start, start + len(name))
        rule = find(name)
        if rule is not None:
            result.entries.append(Suppression(rule, span, lines, site.is_alone))
        else:
            message = f"unknown rule `{name}`{suggestion(name)}"
            result.faults.append(_finding("CG902", result.path, span, message))


def _finding(code: str, path: str, span: Span, message: str) -> Finding:
    rule = find(code)
    assert rule is not None
    return Finding(path, span, code, rule.name, rule.hazard, rule.level, Confidence.DEFINITE, message)


def _last_line(span: Span) -> int:
    ends_before = span.end_column == 1 and span.end_line > span.line
    return span.end_line - 1 if ends_before else span.end_line
