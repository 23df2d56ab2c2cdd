"""Findings that a comment of the program accepts (`# graphlint: ignore[CGnnn]`), read as by the linter."""

from __future__ import annotations

import ast
from dataclasses import replace

from graphlint.finding import Finding, Hop, Span
from graphlint.sources import Sources
from graphlint.suppressions import Suppressions, suppressions_of


class Comments:
    """The comments of the files in which something was found; each file is read once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._of: dict[str, tuple[Suppressions, ast.AST]] = {}

    def accept(self, finding: Finding) -> bool:
        """Return whether a comment covers one of the places of a finding: where the graph was captured, where
        memory was touched, or where it was replayed. Lines that called the place do not count.
        """
        return any(self._accept(finding, hop) for hop in finding.chain)

    def _accept(self, finding: Finding, hop: Hop) -> bool:
        suppressions, tree = self._parsed(hop.path)
        if not suppressions.entries:
            return False
        span = replace(line_of(hop, self._sources), end_line=_last_line(tree, hop.line))
        return not suppressions.apply([replace(finding, path=hop.path, span=span)])

    def _parsed(self, path: str) -> tuple[Suppressions, ast.AST]:
        if path not in self._of:
            text = self._sources.text(path)
            suppressions = suppressions_of(path, text)
            self._of[path] = suppressions, _tree(text if suppressions.entries else "")
        return self._of[path]


def _tree(text: str) -> ast.AST:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _last_line(tree: ast.AST, line: int) -> int:
    """Return where the statement ends that a frame is at, or the head of one that has a body."""
    ends = [line]
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line:
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or line
            if line <= end:
                ends.append(end)
    return ends[-1]


def line_of(place: Hop, sources: Sources) -> Span:
    """Return the whole of a line: a frame tells no column on every Python."""
    lines = sources.lines(place.path)
    text = lines[place.line - 1] if place.line <= len(lines) else ""
    start = len(text) - len(text.lstrip())
    return Span(place.line, start + 1, place.line, max(len(text.rstrip()), start + 1) + 1)
