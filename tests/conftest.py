"""What the tests of the command line and the engine share: a project folder and an analysis made to order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import graphlint.engine
from graphlint.cli import cli
from graphlint.config import Config
from graphlint.discovery import FoundFile
from graphlint.finding import Confidence, Finding, Hop, Level, Span
from graphlint.problem import Problem
from graphlint.regions import RegionReport

pytest_plugins = ["pytester"]

Run = Callable[..., Result]


@dataclass
class FakeAnalysis:
    """An analysis that says what a test tells it to say."""

    findings: Sequence[Finding] = ()
    regions: Sequence[RegionReport] = ()
    captured_functions: int = 0
    unresolved_calls: int = 0
    unfinished: int = 0
    problems: Sequence[Problem] = ()
    unneeded: Sequence[Problem] = ()
    crash: Exception | None = None

    def __call__(
        self, files: Sequence[FoundFile], config: Config, use_cache: bool, jobs: int | None
    ) -> FakeAnalysis:
        if self.crash is not None:
            raise self.crash
        return self


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project that is also the working folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "GRAPHLINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def analysis(monkeypatch: pytest.MonkeyPatch) -> FakeAnalysis:
    """The analysis that the engine uses in this test; it finds nothing until told to."""
    fake = FakeAnalysis()
    monkeypatch.setattr(graphlint.engine, "_analyse", fake)
    return fake


@pytest.fixture
def run(project: Path, analysis: FakeAnalysis) -> Iterator[Run]:
    """Run the command line in the project with the fake analysis."""
    runner = CliRunner()
    yield lambda *args: runner.invoke(cli, list(args))


def finding(
    path: str = "a.py",
    line: int = 1,
    column: int = 1,
    *,
    end: tuple[int, int] | None = None,
    code: str = "CG901",
    name: str = "unused-suppression",
    level: Level = Level.ERROR,
    confidence: Confidence = Confidence.DEFINITE,
    message: str = "something is recorded",
    chain: tuple[Hop, ...] = (),
    help: str = "",
) -> Finding:
    """A finding that spans one character unless `end` says otherwise."""
    span = Span(line, column, *(end or (line, column + 1)))
    return Finding(path, span, code, name, "other", level, confidence, message, chain, help)
