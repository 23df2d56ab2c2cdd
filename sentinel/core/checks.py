"""All checks, in the order in which each event is given to them."""

from __future__ import annotations

from graphlint.sentinel.core.abandoned import AbandonedOutputs
from graphlint.sentinel.core.captures import CallsInCapture, WorkInCapture
from graphlint.sentinel.core.copies import MismatchedCopies
from graphlint.sentinel.core.gradients import AccumulatingGradients
from graphlint.sentinel.core.growth import CaptureOrder
from graphlint.sentinel.core.hosts import HostTransfers
from graphlint.sentinel.core.inputs import InputsInPlace
from graphlint.sentinel.core.kept import KeptOutputs
from graphlint.sentinel.core.machine import Check
from graphlint.sentinel.core.order import ConcurrentReplays, UnorderedInputs, UnorderedOutputs
from graphlint.sentinel.core.outputs import PoolOverwrites, StaleOutputs
from graphlint.sentinel.core.rewritten import RewrittenInputs
from graphlint.sentinel.core.unfilled import UnfilledMemory

CHECKS: tuple[type[Check], ...] = (
    InputsInPlace,
    RewrittenInputs,
    AccumulatingGradients,
    ConcurrentReplays,
    UnorderedInputs,
    UnorderedOutputs,
    StaleOutputs,
    AbandonedOutputs,
    KeptOutputs,
    PoolOverwrites,
    UnfilledMemory,
    HostTransfers,
    MismatchedCopies,
    CaptureOrder,
    CallsInCapture,
    WorkInCapture,
)
