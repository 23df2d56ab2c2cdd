"""CG502: a capture restricts every thread while another thread calls CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import Called, CaptureStarted
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.parallel import ThreadRun
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule
from graphlint.rules.wording import way_to

HELP = 'pass `capture_error_mode="thread_local"`, or stop the other thread while the capture runs'

WAITS = "a thread waits for the device here while another one captures, and in any mode that ends the capture"
HELP_WAITS = "wait for a stream or an event, or hold a lock around both"


class GlobalCaptureModeWithThreads(Rule):
    code = "CG502"
    name = "global-capture-mode-with-threads"
    hazard = "thread-mode"
    level = Level.ERROR
    summary = "a capture restricts every thread while another thread calls CUDA"
    rows = ("E06", "E07", "H05")
    subscribes = (CaptureStarted, Called)

    def __init__(self) -> None:
        self._runs: list[ThreadRun] = []
        self._inside: list[tuple[Capture, ThreadRun]] = []
        self._beside: list[tuple[Capture, ThreadRun]] = []
        self._waiting: list[tuple[Capture, ThreadRun]] = []

    def on(self, event: CaptureStarted | Called) -> Iterator[Report]:
        if isinstance(event, Called):
            if event.what == "thread-start":
                self._runs.append(event.data)
            return
        capture = event.capture
        if capture is None or capture.compiled:
            return
        if capture.mode != "global":
            self._waiting += [(capture, run) for run in capture.facts["threads"]]
            return
        if capture.facts["thread"] is not None:
            self._inside.append((capture, capture.facts["thread"]))
        for loader in capture.facts["loaders"]:
            yield _report(capture, "the pinning thread of a data loader calls CUDA meanwhile", loader.site)
        self._beside += [(capture, run) for run in capture.facts["threads"]]

    def at_end(self) -> Iterator[Report]:
        """What a thread does is known at the end, and another one may have been started after a capture."""
        for capture, run in self._beside:
            if run.calls_outside(capture.facts["locks"]):
                yield _report(capture, "a thread that was started before calls CUDA meanwhile", run.place)
        for capture, run in self._waiting:
            for place, locks in run.waits:
                if not locks & capture.facts["locks"]:
                    chain = (*(way_to(capture) or (capture.place.hop,)), run.place.hop)
                    yield Report(place, WAITS, Confidence.LIKELY, chain=chain, help=HELP_WAITS)
        for capture, thread in self._inside:
            for other in self._runs:
                if other.overlaps(thread) and other.calls_outside(capture.facts["locks"]):
                    yield _report(capture, "another thread of the program calls CUDA meanwhile", other.place)
                    break


def _report(capture: Capture, why: str, source: Place | None) -> Report:
    """The chain leads to the capture, and then to what makes the other thread."""
    message = f"this capture makes unsafe CUDA calls fail on every thread, and {why}"
    thread = (source.hop,) if source is not None else ()
    chain = (*(way_to(capture) or (capture.place.hop,)), *thread)
    return Report(capture.place, message, Confidence.LIKELY, chain=chain, help=HELP)
