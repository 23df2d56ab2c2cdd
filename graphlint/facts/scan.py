"""What the bytes of a file give away without parsing: marks of captures, defined names, written fields.

The scan over-approximates: text in comments and strings counts, so that nothing is missed and no
parser is needed. Every expression below begins with fixed text and repeats unboundedly only what
cannot match its continuation, so the cost is linear in the file; tests hold it to that.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileScan:
    """The names that a file gives away.

    `marks` are the families of marks that occur, `defines` the names after `def` and `class` anywhere
    in the file, `writes` the attribute names that are assigned somewhere, `setattr` included.
    """

    marks: frozenset[str]
    defines: frozenset[str]
    writes: frozenset[str]


NOTHING = FileScan(frozenset(), frozenset(), frozenset())


def scan(data: bytes) -> FileScan:
    """Scan the bytes of one file; never fails, whatever they are."""
    names = _ASCII if data.isascii() else _ANY
    return FileScan(marks_in(data), _names(names.defines(data)), _names(names.writes(data)))


def _names(found: Iterable[bytes]) -> frozenset[str]:
    return frozenset(map(_name, set(found)))


def _name(raw: bytes) -> str:
    if raw.isascii():
        return raw.decode("ascii")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return unicodedata.normalize("NFKC", text)  # as Python does with identifiers


# --- defined names and written fields --------------------------------------------------------------

_GAP = rb"(?:[ \t\f]|\\\r?\n)"
# What may stand after a field that is assigned: the first character decides almost every case.
_FOLLOWS = rb"(?=[-+*/%@&|^<> \t\\\r\n=:,])"
_EQUALS = rb"[-+*/%@&|^<> \t\\\r\n]{0,80}(?<![\s\w]<)(?<![\s\w]>)=(?!=)"
_ANNOTATED = rb":[^=\n]{1,200}="
_IN_TUPLE = rb",[^=()\n]{0,200}(?:\([^()\n]{0,200}\)[^=()\n]{0,200}){0,4}=(?!=)"


class _Names:
    """The expressions that find names, for one alphabet: the ASCII one is three times as fast."""

    def __init__(self, name: bytes) -> None:
        self.field = re.compile(rb"\.(%b)" % name)
        self.assigned = re.compile(
            rb"\.(%b)%b(?=%b|%b|%b)" % (name, _FOLLOWS, _EQUALS, _ANNOTATED, _IN_TUPLE)
        )
        self.definitions = [re.compile(rb"%b%b+(%b)" % (word, _GAP, name)) for word in (b"def", b"class")]
        self.context = re.compile(rb" as [\w.\[\]]{1,200}\.(%b)" % name)
        self.loop = re.compile(rb"for (?:\w{1,80},[ ]?){0,9}\w{1,80}\.(?:\w{1,80}\.){0,9}(%b)" % name)
        self.setattr = re.compile(rb"setattr(?:__)?\(\s{0,80}[^\n,]{0,200},\s{0,80}[\"'](%b)[\"']" % name)

    def defines(self, data: bytes) -> Iterable[bytes]:
        for definition in self.definitions:
            yield from definition.findall(data)

    def writes(self, data: bytes) -> Iterable[bytes]:
        yield from self.assigned.findall(data)
        yield from self.context.findall(data)
        yield from self.loop.findall(data)
        yield from self.setattr.findall(data)
        for line in _bracketed_targets(data):
            yield from self.field.findall(line)


_ASCII = _Names(rb"\w+")
_ANY = _Names(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_TUPLE_END = re.compile(rb"\)[ \t]*=(?!=)")
_LIST_END = re.compile(rb"\][ \t]*=(?!=)")
_LONGEST_TARGETS = 4096
_MOST_LINES = 60


def _bracketed_targets(data: bytes) -> Iterable[bytes]:
    """The lines of bracketed target lists, over one line or several: `(self.a, self.b) = ...`."""
    previous = 0
    for match in _TUPLE_END.finditer(data):
        # No target list reaches back over the end of another: this keeps the whole walk linear.
        yield from _backwards(data[max(previous, match.end() - _LONGEST_TARGETS) : match.start() + 1], b"()")
        previous = match.end()
    previous = 0
    for match in _LIST_END.finditer(data):
        # Nearly all are subscripts or annotations; a list of targets has its line to itself.
        start = data.rfind(b"\n", max(0, match.start() - _LONGEST_TARGETS), match.start()) + 1
        if data[start : match.start() + 1].lstrip()[:1] in (b"[", b"]"):
            yield from _backwards(data[max(previous, start - _LONGEST_TARGETS) : match.start() + 1], b"[]")
            previous = match.end()


def _backwards(data: bytes, brackets: bytes) -> Iterable[bytes]:
    """The lines of `data`, last first, back to the one that opens the bracket closed at its end."""
    depth = 0
    for line in reversed(data.rsplit(b"\n", _MOST_LINES)):
        yield line
        depth += line.count(brackets[:1]) - line.count(brackets[1:])
        if depth >= 0:
            return


# --- marks -----------------------------------------------------------------------------------------
# Plain `in` runs at gigabytes a second. Every mark but two holds "raph" or "apture", so that most files are
# done after four such questions; a family turns to expressions only where a plain word of it occurs.


def _has_word(pattern: re.Pattern[bytes], data: bytes) -> bool:
    """Whether `pattern` occurs as a word of its own: `CUDAGraph`, not `NoCUDAGraph`."""
    return any(not _is_word(data[match.start() - 1 : match.start()]) for match in pattern.finditer(data))


def _is_word(character: bytes) -> bool:
    return character.isalnum() or character == b"_"


_GRAPH_CLASS = re.compile(rb"CUDAGraph\b")
_CAPTURE_CALL = re.compile(rb"capture_(?:begin|end)\b")
# A call on any receiver, or the class taken as a value from a receiver that can only be a device module.
_GRAPH_ATTRIBUTE = re.compile(
    rb"\.graph\b(?:" + _GAP + rb"*\(|(?:(?<=cuda\.graph)|(?<=device_module\.graph)|(?<=\)\.graph))(?![.\w]))"
)
_GRAPH_IMPORT = re.compile(
    rb"from" + _GAP + rb"+torch\.cuda(?:\.graphs)?" + _GAP + rb"+import\b([^\n(]{0,400}(?:\([^)]{0,2000})?)"
)
_GRAPH_NAME = re.compile(rb"\bgraphs?\b|\*")
_GRAPH_GETATTR = re.compile(rb"getattr\([^\n,]{1,200},\s*[\"']graph[\"']")


def _of_graphs(data: bytes) -> Iterator[str]:
    """The families whose marks hold "raph"."""
    if _marks_graph(data):
        yield "graph"
    if b"cudagraph_mark_step_begin" in data:
        yield "mark_step"
    if b"create_graph_builder" in data:
        yield "driver"
    if b"triton.cudagraphs" in data or (b"cudagraphs" in data and _compiles(data)):
        yield "compile"
    if b"graphlint:" in data and _DECLARED.search(data):
        yield "declared"


def _marks_graph(data: bytes) -> bool:
    return (
        (b"CUDAGraph" in data and _has_word(_GRAPH_CLASS, data))
        or b"make_graphed_callables" in data
        or b"graph_pool_handle" in data
        or b"accelerator.Graph" in data
        or _takes_graph(data)
    )


def _takes_graph(data: bytes) -> bool:
    if not (b"cuda" in data or b"torch" in data or b"device_module" in data):
        return False
    return bool(
        _GRAPH_ATTRIBUTE.search(data)
        or any(_GRAPH_NAME.search(names) for names in _GRAPH_IMPORT.findall(data))
        or _GRAPH_GETATTR.search(data)
    )


_DECLARED = re.compile(rb"#[ \t]*graphlint:[ \t]*captured\b")
_GRAPH_MODE = re.compile(rb"[\"'](?:reduce-overhead|max-autotune|cudagraphs)[\"']")


def _compiles(data: bytes) -> bool:
    return b"compile" in data and _GRAPH_MODE.search(data) is not None


def _of_captures(data: bytes) -> Iterator[str]:
    """The families whose marks hold "apture"."""
    if b"capture_" in data and _has_word(_CAPTURE_CALL, data):
        yield "graph"
    if b"ScopedCapture" in data or b"capture_launch" in data or _WARP_CAPTURE.search(data):
        yield "warp"
    if _has_word(_BEGIN_CAPTURE, data) or b"cupy.cuda" in data:
        yield "cupy"
    if b"StreamBeginCapture" in data:
        yield "driver"


_WARP_CAPTURE = re.compile(rb"(?:wp|warp)\.capture_(?:begin|end|while|if)\b")
_BEGIN_CAPTURE = re.compile(rb"begin_capture\b")
_REPLAY = re.compile(rb"\.replay\b")


def _marks(data: bytes) -> Iterator[str]:
    if b"raph" in data:
        yield from _of_graphs(data)
    if b"apture" in data:
        yield from _of_captures(data)
    if b".replay" in data and _REPLAY.search(data):
        yield "replay"
    if (b"max-autotune" in data or b"reduce-overhead" in data) and _compiles(data):
        yield "compile"


def marks_in(data: bytes) -> frozenset[str]:
    """The families of marks that occur in a file: how it may begin, replay or declare a capture.

    They are graph, replay, compile, mark_step, warp, cupy, driver and declared.
    """
    return frozenset(_marks(data))
