"""Bytes become text and trees as Python reads them, and every failure is said in words."""

from __future__ import annotations

import ast
import codecs
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphlint.facts.source import Source, Unreadable, decode, parse
from graphlint.finding import Span

PATH = Path("model.py")


def source(data: str | bytes) -> Source:
    return parse(PATH, data.encode() if isinstance(data, str) else data)


def why_unreadable(data: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        parse(PATH, data)
    assert caught.value.path == PATH
    return caught.value.reason


def span_of(found: Source, text: str) -> Span:
    """The span of the name `text` in the tree."""
    return next(
        found.span(node) for node in ast.walk(found.tree) if isinstance(node, ast.Name) and node.id == text
    )


class TestEncodings:
    def test_utf8_is_the_default(self) -> None:
        assert source("x = 'ä'").text == "x = 'ä'"

    def test_a_coding_comment_is_obeyed(self) -> None:
        assert "ä" in source("# coding: latin-1\nx = 'ä'\n".encode("latin-1")).text

    def test_a_coding_comment_on_the_second_line_is_obeyed(self) -> None:
        data = "#!/usr/bin/env python\n# -*- coding: cp1252 -*-\nx = '€'\n".encode("cp1252")
        assert "€" in source(data).text

    def test_a_byte_order_mark_is_no_part_of_the_text(self) -> None:
        found = source(codecs.BOM_UTF8 + b"graph = 1")
        assert found.text == "graph = 1"
        assert span_of(found, "graph") == Span(1, 1, 1, 6)

    @pytest.mark.parametrize(
        "data",
        [
            b"x = '\xe4'",
            b"# coding: klingon\n",
            b"# coding: rot13\nk = 1\n",
            codecs.BOM_UTF8 + b"# coding: latin-1\n",
            b"# coding: ascii\nx = '\xe4'",
        ],
        ids=["not utf-8", "unknown encoding", "no text encoding", "mark against comment", "not ascii"],
    )
    def test_what_python_cannot_decode_is_unreadable(self, data: bytes) -> None:
        assert why_unreadable(data).startswith("cannot be decoded: ")

    @pytest.mark.parametrize("lines", [0, 5])
    def test_the_wrong_byte_is_named(self, lines: int) -> None:
        reason = why_unreadable(b"\n" * lines + b"x = '\xe4'")
        assert reason == f"cannot be decoded: byte 0xe4 at offset {5 + lines} is not utf-8"


class TestFailures:
    def test_a_syntax_error_has_its_place_in_characters(self) -> None:
        with pytest.raises(Unreadable, match="syntax error: ") as raised:
            source("x = 1\n\ny = 'äöü' +)\n".encode())
        assert (raised.value.line, raised.value.column) == (3, 12)

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("x = 1\nreturn 3\n", 2),
            ("if x:\n    yield 4\n", 2),
            ("try:\n    pass\nexcept E:\n    y = await x\n", 4),
            ("class A:\n    return 1\n", 2),
            ("for x in y:\n    class A:\n        break\n", 3),
            ("for x in y:\n    pass\nelse:\n    continue\n", 4),
            ("async with x: pass\n", 1),
        ],
    )
    def test_so_has_a_statement_where_python_refuses_it(self, text: str, line: int) -> None:
        with pytest.raises(Unreadable, match=r"syntax error: '.*' (outside|not)") as raised:
            source(text.encode())
        assert raised.value.line == line

    def test_the_same_statements_where_they_belong(self) -> None:
        loop = "for x in y:\n    if x: break\n    with x: continue\n    try: pass\n    finally: break\n"
        source(f"def f():\n    return 1\n\nasync def g():\n    await x\n    yield 1\n\n{loop}".encode())

    def test_a_nul_byte_is_named(self) -> None:
        assert why_unreadable(b"x = 1\0") == "contains a NUL byte"

    @pytest.mark.parametrize(
        "data",
        [b"(" * 5000 + b")" * 5000, b"-" * 100_000 + b"1", b"[" * 3000, b"x" + b".a" * 100_000],
        ids=["parentheses", "signs", "open brackets", "attributes"],
    )
    def test_deep_nesting_is_no_crash(self, data: bytes) -> None:
        assert why_unreadable(data) == "nested too deeply"

    def test_an_empty_file_is_a_module(self) -> None:
        assert source(b"").tree.body == []

    def test_warnings_about_the_code_are_not_shown(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            source(r"x = '\d'; 1 is 1")

    @given(st.binary(max_size=200))
    def test_no_bytes_raise_anything_else(self, data: bytes) -> None:
        try:
            found = parse(PATH, data)
        except Unreadable as error:
            assert error.reason
        else:
            assert found.line(1) is not None

    @given(st.binary(max_size=100))
    def test_decoding_raises_nothing_else(self, data: bytes) -> None:
        try:
            decode(b"# coding: utf-7\n" + data, PATH)
        except Unreadable as error:
            assert error.reason.startswith("cannot be decoded")


class TestSpans:
    def test_columns_count_characters_from_one(self) -> None:
        assert span_of(source("a = '🚀é'; graph = 1"), "graph") == Span(1, 11, 1, 16)

    def test_columns_count_characters_in_wide_identifiers(self) -> None:
        assert span_of(source("größe; graph"), "graph") == Span(1, 8, 1, 13)

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
    def test_every_line_end_of_python_ends_a_line(self, end: str) -> None:
        found = source(f"a = 1{end}{end}graph = 2{end}")
        assert span_of(found, "graph") == Span(3, 1, 3, 6)
        assert found.line(3) == "graph = 2"

    @pytest.mark.parametrize("character", ["\f", "\x1c", "\u2028", "\x85"])
    def test_other_separators_end_no_line(self, character: str) -> None:
        found = source(f"x = 1 # {character} y\ngraph = 2")
        assert span_of(found, "graph") == Span(2, 1, 2, 6)
        assert found.line(2) == "graph = 2"

    def test_a_form_feed_counts_as_one_column(self) -> None:
        assert span_of(source("\fgraph = 1"), "graph") == Span(1, 2, 1, 7)

    def test_several_lines_are_spanned(self) -> None:
        found = source("f(\n  a,\n)")
        assert found.span(found.tree.body[0]) == Span(1, 1, 3, 2)

    def test_a_with_item_spans_its_parts(self) -> None:
        found = source("with open(a) as b: pass")
        statement = found.tree.body[0]
        assert isinstance(statement, ast.With)
        assert found.span(statement.items[0]) == Span(1, 6, 1, 18)

    def test_a_module_and_an_empty_argument_list_have_a_span_too(self) -> None:
        found = source("lambda: 0")
        arguments = next(node for node in ast.walk(found.tree) if isinstance(node, ast.arguments))
        assert found.span(arguments) == Span(1, 1, 1, 1)
        assert found.span(found.tree) == Span(1, 1, 1, 10)

    @given(st.text(alphabet="aä🚀 '\"{}()=\n\r\f+", max_size=60))
    def test_spans_lie_inside_the_file(self, text: str) -> None:
        try:
            found = source(text)
        except Unreadable:
            return
        for node in ast.walk(found.tree):
            span = found.span(node)
            assert (1, 1) <= (span.line, span.column) <= (span.end_line, span.end_column)
            assert span.end_line <= len(found.starts) - 1
            assert span.end_column <= len(found.line(span.end_line)) + 1

    @given(st.text(alphabet="aäß🚀x", min_size=1, max_size=8).filter(str.isidentifier))
    def test_the_span_of_a_name_cuts_out_the_name(self, name: str) -> None:
        found = source(f"'ö'; {name}")
        span = found.span(found.tree.body[1])
        assert found.line(1)[span.column - 1 : span.end_column - 1] == name
