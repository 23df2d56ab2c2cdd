"""Findings for people: the source with the place marked, the chain that makes it a hazard, and the way on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from graphlint.finding import Confidence, Evidence, Finding, Hop, Level, Span
from graphlint.formats.style import Style, count, printable, width
from graphlint.report import Report, Watched
from graphlint.sources import Sources

COLORS = {Level.ERROR: "bold red", Level.WARNING: "bold yellow", Level.NOTE: "bold cyan"}
_MAX_LINES = 4
_MAX_COLUMNS = 140
_LEAD = 40
_MAX_FRAMES = 4
_MAX_CODE = 60
_MAX_CELL = 48  # longer ones do not push the others to the right
_MAX_UNSEEN = 3


def render(report: Report, style: Style) -> Iterator[str]:
    """Yield a block for each finding and, unless quiet, one line that sums up."""
    for finding in report.findings:
        yield "\n".join([*lines_of(finding, report.sources, style), "", ""])
    if not style.quiet:
        yield "".join(f"{line}\n" for line in _closing(report))


def lines_of(finding: Finding, sources: Sources, style: Style) -> Iterator[str]:
    """Yield the lines that tell of one finding, without their ends."""
    yield _header(finding, style)
    yield from _excerpt(finding, sources.lines(finding.path), style)
    if finding.evidence is None:
        yield from _chain(finding, style)
    else:
        yield from _stacks(finding.evidence, sources, style)
        yield _seen(finding.evidence)
    yield from _way_on(finding, style)


def _header(finding: Finding, style: Style) -> str:
    place = printable(f"{finding.path}:{finding.span.line}:{finding.span.column}")
    judged = style.paint(f"{_judgement(finding)}: {finding.code}", COLORS[finding.level])
    return f"{style.paint(place, 'bold')}: {judged} [{finding.name}] {printable(finding.message)}"


def _judgement(finding: Finding) -> str:
    """How bad, and how sure where it is not certain: `error`, `likely warning`."""
    sure = finding.confidence is Confidence.DEFINITE
    return finding.level.value if sure else f"{finding.confidence.value} {finding.level.value}"


def _excerpt(finding: Finding, lines: list[str], style: Style) -> Iterator[str]:
    span = finding.span
    if not 1 <= span.line <= len(lines):
        return
    last = min(max(span.line, span.end_line), len(lines), span.line + _MAX_LINES - 1)
    gutter = len(str(last))
    bar = style.paint("|", "blue")
    yield f"{' ' * gutter} {bar}"
    for number in range(span.line, last + 1):
        text, mark = _marked(lines[number - 1], number, span)
        yield f"{style.paint(str(number).rjust(gutter), 'blue')} {bar} {text}".rstrip()
        if mark:
            yield f"{' ' * gutter} {bar} {style.paint(mark, COLORS[finding.level])}"
    if last < min(span.end_line, len(lines)):
        yield f"{'.' * gutter} {bar}"


def _marked(line: str, number: int, span: Span) -> tuple[str, str]:
    """Return a line fit for the terminal, cut around the span when long, and the carets below it."""
    start = span.column - 1 if number == span.line else len(line) - len(line.lstrip())
    end = span.end_column - 1 if number == span.end_line else len(line.rstrip())
    start, end = min(start, len(line)), min(max(end, start), len(line))
    lead = ""
    if len(line) > _MAX_COLUMNS:
        cut = max(0, start - _LEAD)
        lead = "…" if cut else ""
        line, start, end = line[cut : cut + _MAX_COLUMNS], start - cut, min(end - cut, _MAX_COLUMNS)
    before = lead + printable(line[:start])
    carets = "^" * width(printable(line[start:end]))
    if not carets and number == span.line:
        carets = "^"
    return lead + printable(line), " " * width(before) + carets if carets else ""


def _chain(finding: Finding, style: Style) -> Iterator[str]:
    places = [printable(f"{hop.path}:{hop.line}") for hop in finding.chain]
    column = max(map(width, places), default=0)
    for place, hop in zip(places, finding.chain, strict=True):
        yield f"    {place}{' ' * (column - width(place))}  {style.paint(printable(hop.function), 'bold')}"


def _stacks(evidence: Evidence, sources: Sources, style: Style) -> Iterator[str]:
    """The stacks one below the other, innermost first, each frame with its source line."""
    rows = [row for what, stack in evidence.stacks for row in _frames(what, stack, sources)]
    wide = [max([0, *filter(_fits, (width(row[column]) for row in rows))]) for column in range(3)]
    for row in rows:
        what, place, function = (row[i] + " " * (wide[i] - width(row[i])) for i in range(3))
        yield f"    {what}  {place}  {style.paint(function, 'bold')}  {row[3]}".rstrip()


def _fits(cells: int) -> bool:
    return cells <= _MAX_CELL


def _frames(what: str, stack: Sequence[Hop], sources: Sources) -> Iterator[tuple[str, str, str, str]]:
    for number, hop in enumerate(stack[:_MAX_FRAMES]):
        lines = sources.lines(hop.path)
        code = lines[hop.line - 1].strip() if hop.line <= len(lines) else ""
        if len(code) > _MAX_CODE:
            code = code[: _MAX_CODE - 1] + "…"
        place = printable(f"{hop.path}:{hop.line}")
        yield ("" if number else what), place, printable(hop.function), printable(code)
    if len(stack) > _MAX_FRAMES:
        yield "", f"… {count(len(stack) - _MAX_FRAMES, 'more frame')}", "", ""


def _seen(evidence: Evidence) -> str:
    where = f"graph {evidence.graph}"
    if evidence.replay:
        where = f"replay {evidence.replay} of {where}"
    often = "seen" if evidence.times == 1 else f"seen {evidence.times:,} times, first"
    return f"  {often} at {where} (check: {evidence.check})"


def _way_on(finding: Finding, style: Style) -> Iterator[str]:
    if finding.help:
        yield f"  {style.paint('help:', 'bold')} {printable(finding.help)}"
    yield f"  explain with: graphlint explain {finding.code}"


def _closing(report: Report) -> Iterator[str]:
    if report.watched is not None:
        yield from _watched(report, report.watched)
        return
    summary = report.summary
    looked_at = (
        f"{count(summary.files, 'file')}, {count(summary.regions, 'capture region')}, "
        f"{count(summary.captured_functions, 'captured function')}, "
        f"{count(summary.unresolved_calls, 'unresolved call')}"
    )
    hidden = f"; {report.hidden} more below the shown level or confidence" if report.hidden else ""
    accepted = f"; {report.accepted} in the baseline" if report.accepted else ""
    yield f"{_found(report)}{hidden}{accepted} ({looked_at})"
    if summary.unfinished:
        yield f"Too large to follow to the end: {count(summary.unfinished, 'function')}, in graphlint regions"
    if summary.unresolved_calls:
        yield "For the unresolved calls: graphlint regions"
    if report.problems:
        yield f"Incomplete: {count(len(report.problems), 'problem')} kept something from being checked"


def _watched(report: Report, watched: Watched) -> Iterator[str]:
    hidden = f"; {report.hidden} more not shown" if report.hidden else ""
    accepted = f"; {report.accepted} allowed" if report.accepted else ""
    looked_at = f"mode {watched.mode}, {count(watched.graphs, 'graph')}, {count(watched.replays, 'replay')}"
    yield f"{_found(report)}{hidden}{accepted} ({looked_at})"
    yield from (f"Not seen: {printable(reason)}" for reason in watched.unseen[:_MAX_UNSEEN])
    if len(watched.unseen) > _MAX_UNSEEN:
        yield f"Not seen: {count(len(watched.unseen) - _MAX_UNSEEN, 'more reason')}"


def _found(report: Report) -> str:
    if not report.findings:
        return "No findings"
    levels = Counter(finding.level for finding in report.findings)
    counts = ", ".join(count(levels[level], level.value) for level in Level if levels[level])
    return f"{count(len(report.findings), 'finding')}: {counts}"
