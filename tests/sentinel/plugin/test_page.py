"""The tests that docs/sentinel.md shows pass."""

from __future__ import annotations

from tests.sentinel.plugin.conftest import Run
from tests.test_sentinel_page import TESTS


def test_the_tests_on_the_page_pass(run: Run) -> None:
    result = run(TESTS, "--virtual", "--strict-markers")
    assert result.parseoutcomes() == {"passed": 2}
