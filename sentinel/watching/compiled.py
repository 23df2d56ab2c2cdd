"""Whether looking at operations would change what compiled functions do."""

from __future__ import annotations

import sys

import torch


def modes_reach_compiled_code() -> bool:
    """Before torch 2.13 a dispatch mode makes compiled functions run uncompiled."""
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 13)


def compiled_code_would_notice() -> bool:
    """Whether a dispatch mode would do so now: something has been compiled already."""
    frames = sys.modules.get("torch._dynamo.convert_frame")
    return modes_reach_compiled_code() and getattr(frames, "FRAME_COUNTER", 0) > 0
