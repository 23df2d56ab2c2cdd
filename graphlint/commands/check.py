"""`graphlint check`: find hazards and print them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphlint.commands.options import Trouble, load, project_options, tell, write
from graphlint.finding import Confidence, Level
from graphlint.formats import FORMATS, format_named

if TYPE_CHECKING:
    from graphlint.baseline import Baseline
    from graphlint.problem import Problem
    from graphlint.report import CheckResult, Report

SOURCE_CODE = "CG900"
STDIN = Path("-")


@click.command(short_help="Find CUDA-graph capture hazards and print them.")
@project_options
@click.option(
    "--output-format", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print."
)
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    help="Report these rules only: codes, prefixes, names or ALL, with commas between.",
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Do not report these rules; the same forms.")
@click.option(
    "--level",
    type=click.Choice([level.value for level in Level]),
    default=Level.WARNING.value,
    show_default=True,
    help="The least level to show.",
)
@click.option(
    "--confidence",
    type=click.Choice([confidence.value for confidence in Confidence]),
    default=Confidence.LIKELY.value,
    show_default=True,
    help="The least confidence to show.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Leave out the findings that this file lists.",
)
@click.option(
    "--write-baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="List the findings in this file instead of printing them.",
)
@click.option(
    "--stdin-filename",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where the text that `-` reads stands, or would stand.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also when there are findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings only.")
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[Path, ...],
    config_file: Path | None,
    isolated: bool,
    no_cache: bool,
    jobs: int | None,
    output_format: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    level: str,
    confidence: str,
    baseline: Path | None,
    write_baseline: Path | None,
    stdin_filename: Path | None,
    exit_zero: bool,
    quiet: bool,
) -> None:
    """Find CUDA-graph capture hazards in the program that PATHS hold (default: the current folder).

    Give it the whole project: a hazard in one file is often made by a line in another. `-` among the paths
    is the text on standard input, which stands in for the file that --stdin-filename names.

    Exit code: 0 for no findings, 1 for findings, 2 for wrong usage or when something could not be read or
    done; the rest is checked all the same.
    """
    from graphlint import engine
    from graphlint.formats.style import tty_style
    from graphlint.report import report_of

    given = _given(paths, stdin_filename)
    places = tuple(path for path in paths if path != STDIN)
    config = load(places or _place_of(given), config_file, isolated, select, ignore)
    checked = places or (() if given else (Path(),))
    known = _baseline(baseline, config.root)
    result = engine.check(checked, config, use_cache=not no_cache, jobs=jobs, given=given)
    if write_baseline is not None:  # lists everything, what an older baseline leaves out as well
        report = report_of(result, Level(level), Confidence(confidence))
        _write_baseline(write_baseline, report, config.root)
        context.exit(2 if report.problems else 0)
    result, accepted = _without_baseline(result, baseline, known)
    report = replace(report_of(result, Level(level), Confidence(confidence)), accepted=accepted)
    write(format_named(output_format)(report, tty_style(is_terminal=sys.stdout.isatty(), quiet=quiet)))
    _tell_the_rest(report, quiet)
    if not quiet:
        tell(_unneeded(problem) for problem in result.unneeded)
    context.exit(0 if exit_zero and report.exit_code == 1 else report.exit_code)


def _baseline(file: Path | None, root: Path) -> Baseline | None:
    """The baseline of a file. Raises Trouble."""
    from graphlint.baseline import BaselineError, read

    try:
        return read(file, root) if file is not None else None
    except BaselineError as error:
        raise Trouble(str(error)) from None


def _without_baseline(
    result: CheckResult, file: Path | None, known: Baseline | None
) -> tuple[CheckResult, int]:
    """What a run found without what the baseline lists, and how much that was."""
    if known is None:
        return result, 0
    new, stale = known.split(result.findings, result.sources)
    if stale:
        click.echo(f"graphlint: {file}: {stale} listed and not found in this run", err=True)
    return replace(result, findings=tuple(new)), len(result.findings) - len(new)


def _write_baseline(file: Path, report: Report, root: Path) -> None:
    from graphlint.baseline import BaselineError
    from graphlint.baseline import write as write_file

    try:
        write_file(file, report.findings, report.sources, root)
    except BaselineError as error:
        raise Trouble(str(error)) from None
    tell(report.problems)
    click.echo(f"wrote {len(report.findings)} to {file}")


def _given(paths: tuple[Path, ...], name: Path | None) -> tuple[Path, bytes] | None:
    """The file that standard input stands in for, and its text. Raises Trouble."""
    if STDIN not in paths:
        if name is not None:
            raise Trouble("--stdin-filename: `-` is not among the paths")
        return None
    if name is not None and name.suffix != ".py":
        raise Trouble(f"--stdin-filename: {name} is not the name of a Python file")
    if sys.stdin is None:
        raise Trouble("-: standard input is closed")
    return name or Path("stdin.py"), sys.stdin.buffer.read()


def _place_of(given: tuple[Path, bytes] | None) -> tuple[Path, ...]:
    return (given[0],) if given else ()


def _unneeded(problem: Problem) -> Problem:
    return replace(problem, reason=f"{problem.reason} (not counted: nothing captured needs this file)")


def _tell_the_rest(report: Report, quiet: bool) -> None:
    """Say what no finding on standard output says."""
    shown = {(finding.path, finding.message) for finding in report.findings if finding.code == SOURCE_CODE}
    tell(problem for problem in report.problems if (problem.path, problem.reason) not in shown)
    if not report.summary.files and not report.problems and not quiet:
        click.echo("graphlint: no Python files under the given paths", err=True)
