"""What code scanning services read: the parts of SARIF 2.1.0 that graphlint writes, by their rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from graphlint.cli import cli
from tests.programs import with_region

TEXT = {"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}, "required": ["text"]}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
NATURAL = {"type": "integer", "minimum": 1}
REGION = {
    "type": "object",
    "properties": dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), NATURAL),
    "required": ["startLine"],
    "additionalProperties": False,
}
ARTIFACT = {
    "type": "object",
    "properties": {"uri": {"type": "string", "pattern": r"^[!-~]+$"}, "uriBaseId": {"type": "string"}},
    "required": ["uri"],
    "additionalProperties": False,
}


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    properties = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def many(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


PHYSICAL = record({"artifactLocation": ARTIFACT}, {"region": REGION})
LOCATION = record({"physicalLocation": PHYSICAL}, {"message": TEXT})
FLOW = record({"threadFlows": many(record({"locations": many(record({"location": LOCATION}), 1)}), 1)})
RESULT = record(
    {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": TEXT,
        "locations": many(LOCATION, 1),
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
    {
        "codeFlows": many(FLOW, 1),
        "stacks": many(record({"frames": many(record({"location": LOCATION}), 1)}, {"message": TEXT}), 1),
        "occurrenceCount": NATURAL,
    },
)
RULE = record(
    {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "shortDescription": TEXT,
        "help": {**TEXT, "required": ["text", "markdown"]},
        "defaultConfiguration": record({"level": LEVEL}),
        "properties": record({"tags": {**many({"type": "string"}), "uniqueItems": True}}),
    }
)
NOTIFICATION = record({"level": LEVEL, "message": TEXT}, {"locations": many(LOCATION)})
INVOCATION = record(
    {"executionSuccessful": {"type": "boolean"}, "toolExecutionNotifications": many(NOTIFICATION)}
)
DRIVER = record({"name": {"const": "graphlint"}, "version": {"type": "string"}, "rules": many(RULE)})
RUN = record(
    {
        "tool": record({"driver": DRIVER}),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "originalUriBaseIds": {"type": "object", "additionalProperties": record({"description": TEXT})},
        "invocations": many(INVOCATION, 1),
        "results": many(RESULT),
    }
)
SARIF = record(
    {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {**many(RUN, 1), "maxItems": 1},
    }
)
PROGRAM = with_region("def read(t):\n    return t.item()", "read(x)\nread(x)\nprint(x)")


def sarif(project: Path, *paths: str) -> dict[str, Any]:
    arguments = ["check", "--isolated", "--no-cache", "--output-format", "sarif", *paths]
    document = json.loads(CliRunner().invoke(cli, arguments).stdout)
    jsonschema.validate(document, SARIF)
    [run] = document["runs"]
    assert isinstance(run, dict)
    return run


@pytest.mark.parametrize("program", ["", PROGRAM, "def broken("], ids=["empty", "findings", "unreadable"])
def test_the_document_follows_the_standard(program: str, project: Path) -> None:
    (project / "program.py").write_text(program, encoding="utf-8")
    run = sarif(project, "program.py")
    assert run["invocations"][0]["executionSuccessful"] is not program.startswith("def broken")
    assert bool(run["results"]) is bool(program)


def test_results_point_at_their_rule_and_bring_its_page(project: Path) -> None:
    (project / "program.py").write_text(PROGRAM, encoding="utf-8")
    run = sarif(project, ".")
    rules = run["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == {result["ruleId"] for result in run["results"]}
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert all("## What it does" in rule["help"]["markdown"] for rule in rules)
    assert not any("# expect" in rule["help"]["markdown"] for rule in rules)


def test_the_chain_is_the_code_flow(project: Path) -> None:
    (project / "program.py").write_text(PROGRAM, encoding="utf-8")
    [read] = [result for result in sarif(project, ".")["results"] if result["ruleId"] == "CG302"]
    [flow] = read["codeFlows"][0]["threadFlows"]
    assert [step["location"]["message"]["text"] for step in flow["locations"]][-1] == "read"


def test_paths_are_uris(project: Path) -> None:
    (project / "a b").mkdir()
    (project / "a b" / "日本.py").write_text(PROGRAM, encoding="utf-8")
    [first, *_] = sarif(project, ".")["results"]
    artifact = first["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "a%20b/%E6%97%A5%E6%9C%AC.py", "uriBaseId": "%SRCROOT%"}


def test_fingerprints_stay_when_lines_are_added_above(project: Path) -> None:
    def prints(program: str) -> list[str]:
        (project / "program.py").write_text(program, encoding="utf-8")
        return [
            result["partialFingerprints"]["graphlintPlace/v1"] for result in sarif(project, ".")["results"]
        ]

    before = prints(PROGRAM)
    assert prints(f"# a line\n\n{PROGRAM}") == before
    assert len(set(before)) == len(before)
