"""Functions that are captured because a comment or the configuration says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.config import load_config
from graphlint.engine import check
from tests.programs import check_marked_rules, findings, regions

HEADERS = {
    "on the def line": "def step(x: torch.Tensor):  # graphlint: captured",
    "above": "# graphlint: captured\ndef step(x: torch.Tensor):",
    "above a decorator": "# graphlint: captured\n@torch.no_grad()\ndef step(x: torch.Tensor):",
    "at the end of a long signature": "def step(\n    x: torch.Tensor,\n):  # graphlint: captured",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_comment_declares_a_function(header: str) -> None:
    check_marked_rules(
        f"""
import torch


{header}
    return x.sum().item()  # expect: CG302


def other(x: torch.Tensor):
    return x.sum().item()  # ok: CG302
"""
    )


def test_a_comment_elsewhere_declares_nothing() -> None:
    check_marked_rules(
        """
import torch

# graphlint: captured

def step(x: torch.Tensor):
    # graphlint: captured
    return x.sum().item()  # ok: CG302
"""
    )


def test_a_declared_method_runs_on_a_constructed_object() -> None:
    check_marked_rules(
        """
import torch


class Decoder:
    def __init__(self, width: int):
        self.scale = torch.ones(width, device="cuda")

    # graphlint: captured
    def _step(self, x):
        return self._scaled(x)

    def _scaled(self, x):
        return float(self.scale.sum())  # expect: CG302

    def report(self):
        return float(self.scale.sum())  # ok: CG302
"""
    )


def test_a_declared_nested_function() -> None:
    check_marked_rules(
        """
import torch


def make(net: torch.nn.Module):
    scale = torch.ones(4, device="cuda")

    def step(x):  # graphlint: captured
        return scale.sum().item()  # expect: CG302

    return step
"""
    )


FILES = {
    "engine/__init__.py": "",
    "engine/model.py": """
import torch


class Decoder(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x.sum().item()  # expect: CG302

    def report(self, x: torch.Tensor):
        return x.sum().item()  # ok: CG302
""",
    "tools/record.py": """
import torch


def step(x: torch.Tensor):
    return x.cpu()  # expect: CG303


def other(x: torch.Tensor):
    return x.cpu()  # ok: CG303
""",
}


def test_the_configuration_declares_by_module_and_by_path() -> None:
    check_marked_rules(FILES, captured=("engine.model:Decoder.forward", "tools/record.py:step"))


def test_an_entry_for_a_class_means_what_calling_it_runs() -> None:
    check_marked_rules(FILES, captured=("engine.model:Decoder", "tools/record.py:step"))


def test_nothing_is_declared_by_default() -> None:
    assert not findings(FILES)


@pytest.mark.parametrize("entry", ["engine.model:Decoder.missing", "engine.none:step", "none.py:step"])
def test_an_entry_that_matches_nothing_is_reported(entry: str) -> None:
    found = findings(FILES, captured=(entry,), select=("CG903",))
    assert [(each.path, each.code) for each in found] == [("pyproject.toml", "CG903")]
    assert entry in found[0].message


ENTRIES = ("engine.model:Decoder.missing", "tools/record.py:missing", "record:missing")


@pytest.mark.parametrize(
    ("paths", "reported"),
    [
        (["."], ENTRIES),
        ([".."], ENTRIES),
        (["tools"], ENTRIES[1:2]),  # another `record` may be meant, outside of what is checked
        (["engine/model.py"], ENTRIES[:1]),
        (["engine/__init__.py"], ()),
        (["empty"], ()),
        (["absent"], ()),
        ([], ()),
    ],
)
def test_a_part_of_the_project_judges_entries_for_its_own_files_only(
    tmp_path: Path, paths: list[str], reported: tuple[str, ...]
) -> None:
    _write(tmp_path, {**FILES, "engine/__init__.py": "", "empty/notes.txt": ""})
    assert _entries_reported(tmp_path, paths, ENTRIES) == sorted(reported)


def test_an_entry_for_a_file_with_a_syntax_error_is_not_judged(tmp_path: Path) -> None:
    _write(tmp_path, {**FILES, "tools/record.py": "def step(:\n"})
    assert _entries_reported(tmp_path, ["."], ("tools/record.py:step", "engine.model:Decoder.forward")) == []


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _entries_reported(folder: Path, paths: list[str], captured: tuple[str, ...]) -> list[str]:
    listed = "".join(f'    "{entry}",\n' for entry in captured)
    (folder / "pyproject.toml").write_text(f'[tool.graphlint]\nselect = ["CG903"]\ncaptured = [\n{listed}]\n')
    config = load_config([folder])
    result = check([folder / path for path in paths], config, use_cache=False, jobs=1)
    return sorted(each.message.split("`")[3] for each in result.findings)


def test_a_declared_function_is_a_region() -> None:
    found = regions(FILES, captured=("tools/record.py:step",))
    assert [(each.path, each.kind) for each in found] == [("tools/record.py", "declared")]


GUARDED = {
    "state.py": """
import torch


class Runtime:
    recording = False

    @classmethod
    def is_recording(cls):
        return cls.recording


def recording():
    return Runtime.recording
""",
    "program.py": """
import torch

from state import Runtime, recording


def report(x):
    if recording():
        return None
    if not Runtime.is_recording():
        return x.sum().item()  # ok: CG302
    return x.max().item()  # expect: CG302


def record(g):
    x = torch.zeros(4, device="cuda")
    with torch.cuda.graph(g):
        report(x)
""",
}


def test_guards_answer_true_during_capture() -> None:
    quiet = {**GUARDED, "program.py": GUARDED["program.py"].replace("# expect: CG302", "# ok: CG302")}
    check_marked_rules(quiet, guards=("state:recording",))
    swapped = GUARDED["program.py"].replace("if recording():\n        return None\n    ", "")
    check_marked_rules({**GUARDED, "program.py": swapped}, guards=("state:Runtime.is_recording",))


def test_a_guard_of_a_library() -> None:
    program = """
import torch
from runtime import is_recording


def record(g):
    x = torch.zeros(4, device="cuda")
    with torch.cuda.graph(g):
        if not is_recording():
            x.sum().item()  # ok: CG302
"""
    check_marked_rules(program, guards=("runtime.is_recording",))


def test_a_guard_that_matches_nothing_is_reported() -> None:
    assert findings(GUARDED, guards=("state:missing",), select=("CG903",))
    assert not findings(GUARDED, guards=("state:recording", "runtime.is_recording"), select=("CG903",))


BACKEND = """
import torch


class Backend:
    def __init__(self, rows: int):
        self.lengths = torch.zeros(rows, device="cuda")

    def decode(self, x: torch.Tensor):  # graphlint: captured
        return self._scaled(x)

    def first(self, x: torch.Tensor):  # graphlint: captured
        return x.sum().item()  # expect: CG302

    def _scaled(self, x):
        return float(self.lengths.sum())  # expect: CG302

    def prefill(self, x: torch.Tensor):
        return self.lengths.sum().item()  # ok: CG302

    def serve(self, x: torch.Tensor, runner):
        self.prefill(x)
        {serve}
"""


def test_methods_beside_declared_ones_are_run_where_they_lead_to_a_capture() -> None:
    check_marked_rules(BACKEND.replace("{serve}", "return self.decode(x)"))
    recorded = """
def record(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x.sum().item()  # expect: CG302
    return graph, y
"""
    check_marked_rules(BACKEND.replace("{serve}", "return record(x)") + recorded)


def test_a_graph_that_a_class_captures_beside_declared_ones_is_followed_between_replays() -> None:
    check_marked_rules(
        """
import torch


class Decoder:
    def __init__(self, rows: int):
        self.x = torch.zeros(rows, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def decode(self, x: torch.Tensor):  # graphlint: captured
        return x + 1

    def capture(self):
        self.decode(self.x)
        with torch.cuda.graph(self.graph):
            self.y = self.decode(self.x)

    def step(self, x: torch.Tensor):
        self.x = x.cuda()  # expect: CG101
        self.graph.replay()
        return self.y.clone()
"""
    )


def test_what_a_declared_object_holds_is_followed_where_it_captures() -> None:
    """Its later methods are called then, which spoil the graph of what it holds."""
    check_marked_rules(
        {
            "recorder.py": """
import torch


class Recorder:
    def __init__(self, net: torch.nn.Module, rows: int):
        self.net = net
        self.inputs = torch.zeros(rows, 8, device="cuda")
        self.graph = None
        self.output = None

    def record(self):
        for _ in range(3):
            self.net(self.inputs)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = self.net(self.inputs)

    def again(self):
        self.graph.replay()
        return self.output
""",
            "layer.py": """
import torch

from recorder import Recorder


class Layer:
    def __init__(self, net: torch.nn.Module):
        self.held = Recorder(net, 16)
        self.held.record()

    # graphlint: captured
    def scaled(self, x):
        return x * 2

    def step(self, batch: torch.Tensor):
        self.held.inputs = batch  # expect: CG101
        return self.held.again()

    def right_step(self, batch: torch.Tensor):
        self.held.inputs.copy_(batch)  # ok: CG101
        return self.held.again()
""",
        }
    )
