"""The JSON that the commands print is what the schemas in docs/schema promise."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from graphlint.cli import cli
from graphlint.rules.rule import HAZARDS
from tests.programs import with_region

SCHEMAS = Path(__file__).parents[1] / "docs" / "schema"
PROGRAM = with_region("def read(t): return t.item()", "read(x)\nunknown.run(x)\nprint(x)")


@pytest.mark.parametrize("command", ["check", "regions"])
@pytest.mark.parametrize("program", ["", PROGRAM, "def broken("], ids=["empty", "findings", "unreadable"])
def test_documents_follow_their_schema(command: str, program: str, project: Path) -> None:
    (project / "program.py").write_text(program, encoding="utf-8")
    arguments = [command, "--isolated", "--no-cache", "--output-format", "json", "program.py"]
    document = json.loads(CliRunner().invoke(cli, arguments).stdout)
    jsonschema.validate(document, json.loads((SCHEMAS / f"{command}.json").read_text(encoding="utf-8")))
    assert bool(document.get("findings") or document.get("regions")) is (
        program == PROGRAM or (command == "check" and bool(program))
    )


def test_the_schema_knows_every_hazard() -> None:
    schema = json.loads((SCHEMAS / "check.json").read_text(encoding="utf-8"))
    assert schema["properties"]["findings"]["items"]["properties"]["hazard"]["enum"] == list(HAZARDS)
