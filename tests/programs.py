"""Small programs as tests: source text goes in, findings come out, compared with the marks in it.

A mark is a comment at the end of a line: `# expect: CG302` (several codes with commas) for a finding that
must be shown there, `# ok: CG302` for one that must not. Lines without a mark must have no finding at all, so
that a program that calls a model or a library in a capture warms it up first.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from graphlint.config import Config
from graphlint.engine import check
from graphlint.finding import Confidence, Finding, Level
from graphlint.regions import RegionReport
from graphlint.report import CheckResult, Summary, report_of

Program = str | dict[str, str]

ONLY_FILE = "program.py"
_MARK = re.compile(r"#\s*(expect|ok):\s*(CG\d{3}(?:\s*,\s*CG\d{3})*)\s*$")


def findings(program: Program, **options: Any) -> list[Finding]:
    """Every finding of a program, the hidden ones too; paths are those of the program.

    `program` is the text of one file, or the text of each file by its path. `options` are fields of `Config`.
    A problem of the run (a crash, a file that cannot be read) fails the test.
    """
    return list(_check(program, options).findings)


def findings_shown(program: Program, *, level: Level = Level.WARNING, **options: Any) -> list[Finding]:
    """The findings of a program that a user sees at a level."""
    return list(report_of(_check(program, options), level, Confidence.LIKELY).findings)


def check_marks(program: Program, *, level: Level = Level.WARNING, **options: Any) -> None:
    """Assert that the findings that are shown at a level are exactly those that the marks expect."""
    shown = findings_shown(program, level=level, **options)
    found = {(each.path, each.span.line, each.code) for each in shown}
    expected = {(path, line, code) for path, line, word, code in _marks(program) if word == "expect"}
    texts = {path: text.splitlines() for path, text in _files(program).items()}
    wrong = [
        f"{word} {code} at {path}:{line}: {texts[path][line - 1].strip()}"
        for word, places in (("missing", expected - found), ("unexpected", found - expected))
        for path, line, code in sorted(places)
    ]
    assert not wrong, "\n".join(wrong)


def check_marked_rules(program: Program, **options: Any) -> None:
    """Like `check_marks`, but only the rules that the marks name are run: what others say does not matter."""
    codes = tuple(sorted({code for _, _, _, code in _marks(program)}))
    check_marks(program, select=codes, **options)


def regions(program: Program, **options: Any) -> list[RegionReport]:
    """The capture regions of a program, with what they reach and what could not be followed."""
    return list(_check(program, options).regions)


def summary(program: Program, **options: Any) -> Summary:
    """How much of a program was looked at."""
    return _check(program, options).summary


def captured(program: Program, **options: Any) -> set[str]:
    """The qualified names of all functions that a program's capture regions reach."""
    return {each.function for region in regions(program, **options) for each in region.captured}


def unresolved(program: Program, **options: Any) -> set[str]:
    """The source texts of all calls in captured code that could not be followed."""
    return {each.text for region in regions(program, **options) for each in region.unresolved}


def _check(program: Program, options: dict[str, Any]) -> CheckResult:
    before = os.environ.get("GRAPHLINT_DEBUG")
    os.environ["GRAPHLINT_DEBUG"] = "1"
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            for path, text in _files(program).items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
            result = check([folder], Config(root=folder, **options), use_cache=False)
            assert not result.problems, result.problems
            return _relative(result, folder)
    finally:
        if before is None:
            del os.environ["GRAPHLINT_DEBUG"]
        else:
            os.environ["GRAPHLINT_DEBUG"] = before


def _relative(result: CheckResult, folder: Path) -> CheckResult:
    def inside(path: str) -> str:
        return Path(os.path.abspath(path)).relative_to(folder).as_posix()

    def moved(region: RegionReport) -> RegionReport:
        return replace(
            region,
            path=inside(region.path),
            captured=tuple(replace(each, path=inside(each.path)) for each in region.captured),
            unresolved=tuple(replace(each, path=inside(each.path)) for each in region.unresolved),
            replays=tuple(each._replace(path=inside(each.path)) for each in region.replays),
            left_behind=tuple(replace(each, path=inside(each.path)) for each in region.left_behind),
        )

    return replace(
        result,
        findings=tuple(
            replace(
                each,
                path=inside(each.path),
                chain=tuple(hop._replace(path=inside(hop.path)) for hop in each.chain),
            )
            for each in result.findings
        ),
        regions=tuple(moved(region) for region in result.regions),
    )


def _files(program: Program) -> dict[str, str]:
    files = {ONLY_FILE: program} if isinstance(program, str) else program
    return {path: dedent(text) for path, text in files.items()}


def _marks(program: Program) -> Iterator[tuple[str, int, str, str]]:
    for path, text in _files(program).items():
        for number, line in enumerate(text.splitlines(), 1):
            mark = _MARK.search(line)
            if mark is not None:
                for code in mark[2].split(","):
                    yield path, number, mark[1], code.strip()


def with_region(definitions: str, region: str) -> str:
    """A program whose one capture region runs `region`, after `definitions`; `x` is a device tensor."""
    body = indent(dedent(region).strip(), "    ")
    return f"import torch\n{_DEVICE_TENSOR}\n{dedent(definitions)}\n{_GRAPH}\nwith {_CAPTURE}:\n{body}\n"


_DEVICE_TENSOR = 'x = torch.zeros(4, device="cuda")'
_GRAPH = "graph = torch.cuda.CUDAGraph()"
_CAPTURE = "torch.cuda.graph(graph)"
