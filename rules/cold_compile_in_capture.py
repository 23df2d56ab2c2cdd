"""CG702: code is compiled or tuned during a capture, because it first runs there."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called
from graphlint.finding import Level
from graphlint.rules.rule import Report, Rule

WARM = "run it once with the same shapes before the capture"
INNER = "compile it without CUDA graphs: `mode='max-autotune-no-cudagraphs'`"


class ColdCompileInCapture(Rule):
    code = "CG702"
    name = "cold-compile-in-capture"
    hazard = "jit-in-capture"
    level = Level.ERROR
    summary = "code is compiled or tuned during a capture, because it first runs there"
    rows = ("I02", "I03", "I04", "K05")
    subscribes = (Called,)

    def on(self, event: Called) -> Iterator[Report]:
        capture = event.capture
        if capture is None or capture.compiled or not isinstance(event.data, dict):
            return
        cold = event.data.get("warm") is False and not capture.facts.get("warmed")
        if event.what == "compiled" and event.data.get("cudagraphs"):
            message = "this compiled callable replays CUDA graphs of its own, which a capture cannot record"
            yield Report(event.place, message, help=INNER)
        elif event.data.get("other") and not capture.facts.get("warmed"):
            yield from _judge_other(event)
        elif event.what == "compiled" and cold:
            message = "this compiled callable first runs here, and compiling it breaks the capture"
            yield Report(event.place, message, help=WARM)
        elif event.what == "launch" and event.data.get("tuned") and cold:
            message = "this autotuned kernel is first launched here, and tuning it waits for the GPU"
            yield Report(event.place, message, help=WARM)


def _judge_other(event: Called) -> Iterator[Report]:
    """It has run, but not with these sizes: what has been made, or chosen, does not fit them."""
    if event.what == "compiled":
        message = "this compiled callable has run with another shape only, and is compiled again here"
        yield Report(event.place, message, level=Level.WARNING, help=WARM)
    elif event.what == "benchmark":
        message = "cuDNN tries its algorithms here, because this convolution has run with another shape only"
        yield Report(event.place, message, help=WARM)
    elif event.data.get("tuned"):
        message = "this autotuned kernel is tuned here, because it has run with other values of its key only"
        yield Report(event.place, message, help=WARM)
