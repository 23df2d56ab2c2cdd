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

    from graphlint.config import ConfigError
    from graphlint.sentinel import allowing, session
    from graphlint.sentinel.programs import NoProgramError
    from graphlint.sentinel.running import Telling, watching

    if session.is_watching():
        return
    telling, stack = Telling(sys.stderr, Path.cwd()), ExitStack()
    try:
        table = allowing.load(telling.root)
        seen = stack.enter_context(watching(request))
    except (ConfigError, NoProgramError) as error:
        raise SystemExit(f"graphlint: {error}") from None
    assert seen is not None

    @atexit.register
    def end() -> None:
        stack.close()
        telling.tell(seen, table)


try:
    _begin()
except SettingsError as _error:
    raise SystemExit(f"graphlint: {_error}") from None
