"""`import graphlint.sentinel.auto`: for a program that something else starts.

Where GRAPHLINT_SENTINEL asks for it (`watch`, `canary` or `test`, and `virtual` with a comma between), this
process is watched from here on, and what was found is told on standard error when it ends. Else, and under
`graphlint run`, nothing happens and nothing of torch is imported. The exit code stays the program's.
"""

from __future__ import annotations

import atexit
import os
import sys

from graphlint.sentinel.settings import SettingsError, merged, request_in


def _begin() -> None:
    request = merged([request_in(os.environ)])
    if request is None:
        return
    from contextlib import ExitStack
    from pathlib import Path

    from graphlint.sentinel import allowing, session
    from graphlint.sentinel.running import Telling, watching

    if session.is_watching():
        return
    telling, table = Telling(sys.stderr, Path.cwd()), allowing.load(Path.cwd())
    stack = ExitStack()
    seen = stack.enter_context(watching(request))

    @atexit.register
    def end() -> None:
        stack.close()
        telling.tell(seen, table)


try:
    _begin()
except SettingsError as _error:
    raise SystemExit(f"graphlint: {_error}") from None
