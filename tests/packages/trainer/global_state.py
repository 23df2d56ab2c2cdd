from __future__ import annotations

from .arguments import TrainingArgs

_ARGS: TrainingArgs | None = None
_TIMERS: dict[str, float] = {}
_NUM_TOKENS = 0


def set_args(args: TrainingArgs) -> None:
    global _ARGS
    _ARGS = args


def get_args() -> TrainingArgs:
    assert _ARGS is not None
    return _ARGS


def count_tokens(n: int) -> None:
    global _NUM_TOKENS
    _NUM_TOKENS += n


def consumed_tokens() -> int:
    return _NUM_TOKENS
