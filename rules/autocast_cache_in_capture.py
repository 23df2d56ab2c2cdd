"""CG801: a capture lies inside `torch.autocast` that caches casted weights."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis.events import CaptureStarted
from graphlint.analysis.values import Const, Obj
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule

HELP = "pass `cache_enabled=False` to the autocast context around the capture"


class AutocastCacheInCapture(Rule):
    code = "CG801"
    name = "autocast-cache-in-capture"
    hazard = "training"
    level = Level.ERROR
    summary = "a capture lies inside `torch.autocast` that caches casted weights"
    rows = ("A13",)
    subscribes = (CaptureStarted,)

    def on(self, event: CaptureStarted) -> Iterator[Report]:
        capture = event.capture
        if capture is None or capture.compiled:
            return
        around = [c for c in capture.facts["contexts"] if c.cls == "torch.autocast"]
        # The innermost context decides whether there is a cache.
        if not around or around[-1].site is None or not _caches(around[-1]):
            return
        message = (
            "the weights that autocast casts and caches here are read by the graph that is captured inside, "
            "but replays do not cast again"
        )
        certain = isinstance(around[-1].fields["enabled"], Const)
        confidence = Confidence.DEFINITE if certain else Confidence.LIKELY
        chain = (around[-1].site.hop, capture.place.hop)
        yield Report(around[-1].site, message, confidence, chain=chain, help=HELP)


def _caches(context: Obj) -> bool:
    """Whether the context is on, concerns the GPU and keeps what it casts; a `None` means the default."""
    device, enabled, cache = (context.fields[name] for name in ("device", "enabled", "cache"))
    on_cpu = isinstance(device, Const) and device.value == "cpu"
    off = isinstance(enabled, Const) and not enabled.value
    return not on_cpu and not off and isinstance(cache, Const) and cache.value is not False
