"""CG807: a graphed callable is used in a way that its graphs cannot follow."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.analysis import gradients
from graphlint.analysis.certainty import Certainty
from graphlint.analysis.events import Called
from graphlint.analysis.frames import Place
from graphlint.analysis.graphs import Capture
from graphlint.analysis.values import Const, Obj, Tensor
from graphlint.finding import Confidence, Level
from graphlint.rules.rule import Report, Rule


class GraphedCallableMisuse(Rule):
    code = "CG807"
    name = "graphed-callable-misuse"
    hazard = "training"
    level = Level.ERROR
    summary = "a graphed callable is used in a way that its graphs cannot follow"
    rows = ("B07", "J05")
    subscribes = (Called,)

    def __init__(self) -> None:
        self._forwards: dict[int, list[Called]] = {}

    def on(self, event: Called) -> Iterator[Report]:
        if event.what == "make-graphed":
            if isinstance(event.data, Place):
                help_ = "register hooks after the call, if they must run at all"
                chain = (event.data.hop, event.place.hop)
                yield Report(event.place, "modules with hooks are refused here", chain=chain, help=help_)
        elif event.what == "graphed-call" and isinstance(event.target, Obj):
            if event.keywords:
                message = "a graphed callable takes positional arguments only"
                made = (event.target.site.hop,) if event.target.site is not None else ()
                chain = (*made, event.place.hop)
                yield Report(event.place, message, chain=chain, help="pass the arguments by position")
            if event.data is not False:
                yield from self._judge_sample(event, event.target)
                self._forwards.setdefault(event.target.serial, []).append(event)
        elif event.what == "checkpoint" and event.capture is not None:
            yield from _judge_recomputation(event, event.capture)
        elif event.what == "backward" and event.capture is None:
            yield from _judge_second_derivative(event)
            yield from self._judge(event)

    def _judge_sample(self, event: Called, graphed: Obj) -> Iterator[Report]:
        """The backward graph computes gradients for those inputs alone whose sample wanted one."""
        samples = graphed.fields.get("sample", ())
        for sample, given in zip(samples, event.arguments, strict=False):
            if not isinstance(sample, Tensor) or not isinstance(given, Tensor) or not given.trained:
                continue
            if gradients.is_plain(sample) and graphed.site is not None:
                message = (
                    "the sample wants no gradient, so that none flows back through the arguments of calls"
                )
                chain = (graphed.site.hop, event.place.hop)
                help_ = "make the sample with `requires_grad=True`"
                yield Report(graphed.site, message, Confidence.LIKELY, chain=chain, help=help_)

    def _judge(self, event: Called) -> Iterator[Report]:
        """Two forward passes share one set of activation buffers: the first is gone at the backward pass."""
        for calls in self._forwards.values():
            if len(calls) > 1 and _belong_together(calls[-2], calls[-1]):
                message = "this call overwrites activations of the one before, which backward has not used"
                help_ = "run backward after every forward, or make one graphed callable for each call"
                chain = (calls[-2].place.hop, calls[-1].place.hop, event.place.hop)
                yield Report(calls[-1].place, message, Confidence.LIKELY, chain=chain, help=help_)
        self._forwards.clear()


def _judge_recomputation(event: Called, capture: Capture) -> Iterator[Report]:
    """A reentrant checkpoint runs a backward of its own, which the graphing call does not allow."""
    reentrant = event.keywords.get("use_reentrant")
    if capture.kind == "make_graphed_callables" and isinstance(reentrant, Const) and reentrant.value is True:
        message = "a graphed callable asks for gradients in a way that `use_reentrant=True` does not allow"
        chain = (capture.place.hop, event.place.hop)
        yield Report(event.place, message, chain=chain, help="use `use_reentrant=False`")


def _judge_second_derivative(event: Called) -> Iterator[Report]:
    """The backward pass of a graphed callable is a replay, of which autograd knows nothing."""
    again = event.keywords.get("create_graph")
    if not isinstance(event.target, Tensor) or not isinstance(again, Const) or not again.value:
        return
    for graph in event.target.through:
        record = graph.fields.get("record")
        if isinstance(record, Capture) and record.kind == "make_graphed_callables":
            message = "a graphed callable has no second derivative, which `create_graph=True` asks for"
            chain = (record.place.hop, event.place.hop)
            help_ = "call the module as it is where second derivatives are needed"
            yield Report(event.place, message, Confidence.LIKELY, chain=chain, help=help_)
            return


def _belong_together(first: Called, second: Called) -> bool:
    """Whether one run of one function makes both calls: an evaluation pass is not part of a training step."""
    certain = all(
        (call.certainty or Certainty()).confidence is Confidence.DEFINITE for call in (first, second)
    )
    return certain and first.place.function == second.place.function
