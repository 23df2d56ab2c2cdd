"""What is seen again and again, or of many tensors at once, is one finding."""

from __future__ import annotations

from graphlint.sentinel.findings import Finding, Findings, Place

LINE = (Place("a.py", 3, "build"),)


def freed(name: str, touched: int = 5) -> Finding:
    return Finding(
        "CG103",
        f"nothing holds `{name}` any more",
        LINE,
        (Place("a.py", touched, "main"),),
        LINE,
        "inputs",
        1,
        1,
    )


def read(replay: int) -> Finding:
    message = f"the result of replay {replay} is read after replay {replay + 1} has overwritten it"
    return Finding("CG201", message, LINE, LINE, LINE, "stale-outputs", 1, replay)


def kept(*findings: Finding) -> list[Finding]:
    found = Findings()
    for finding in findings:
        found.add(finding)
    return found.as_list()


def test_weights_of_one_module_are_one_finding_that_names_them() -> None:
    (one,) = kept(*map(freed, ("a", "b", "a", "c", "d", "e")))
    assert one.message == "nothing holds `a` any more (also `b`, `c`, `d` and 1 more)" and one.times == 6


def test_a_single_name_stands_alone() -> None:
    (one,) = kept(freed("a"), freed("a"))
    assert one.message == "nothing holds `a` any more"


def test_other_lines_are_other_findings() -> None:
    assert len(kept(freed("a"), freed("b", touched=6))) == 2


def test_the_same_line_in_later_replays_is_counted() -> None:
    (one,) = kept(read(1), read(2), read(3))
    assert one.times == 3 and "replay 1 " in one.message
