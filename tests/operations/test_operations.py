"""The tables of operations load, rest on something, and agree with what was measured."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from graphlint.rules import operations

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "docs" / "measured"
TABLE = json.loads((ROOT / "rules" / "tables" / "operations.json").read_text("utf-8"))["operations"]


def _script() -> ModuleType:
    path = ROOT / "benchmarks" / "make_operation_tables.py"
    spec = importlib.util.spec_from_file_location("make_operation_tables", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
ROWS = {row.id: row for row in SCRIPT.rows()}
READINGS = list(SCRIPT.readings())


def kind(name: str, *holds: str, given: tuple[str, ...] = (), positionals: int = 0) -> str | None:
    operation = operations.lookup(name)
    assert operation is not None, name
    effect = operation.effect_of(holds, given, positionals)
    return None if effect is None else effect.kind


def test_every_entry_uses_the_words_of_the_vocabulary() -> None:
    results = {*operations.RESULTS, "tuple:2", "tuple:3", "tuple:4"}
    for name in TABLE:
        operation = operations.lookup(name)
        assert operation is not None
        assert operation.result in results, name
        assert operation.with_dim in {"", *results}, name
        assert operation.reduces in {"", "always", "without-dim"}, name
        assert operation.dtype in {"same", "bool", "int", "float", "complex", "argument"}, name
        assert operation.device in {"same", "cpu", "cuda", "argument"}, name


def test_every_effect_rests_on_a_measured_failure_or_names_its_source() -> None:
    for name in TABLE:
        operation = operations.lookup(name)
        assert operation is not None
        for effect in operation.effects:
            assert effect.kind in operations.EFFECTS, name
            assert set(effect.when) <= operations.CONDITIONS.keys(), name
            assert effect.evidence or effect.source, f"{name}: {effect.kind} rests on nothing"
            assert set(effect.evidence) <= ROWS.keys(), name
            assert all(ROWS[row].failed for row in effect.evidence), name


def test_every_condition_is_used() -> None:
    effects = [effect for raw in TABLE.values() for effect in raw.get("effects", ())]
    assert {c for effect in effects for c in effect.get("when", ())} == operations.CONDITIONS.keys()


def test_the_tables_predict_what_was_measured() -> None:
    wrong = [row.id for row, predicted, _ in READINGS if row.failed != bool(predicted)]
    assert wrong == []


def test_rows_are_read_or_excused() -> None:
    """A row is compared, excused with a reason, or could not run in eager mode."""
    assert SCRIPT.EXCEPTIONS.keys() <= ROWS.keys()
    assert all(SCRIPT.EXCEPTIONS.values())
    read = {row.id for row, _, _ in READINGS}
    for row in ROWS.values():
        if row.id.startswith(("scenarios:", "nccl:")):
            continue
        assert row.id in read or row.id in SCRIPT.EXCEPTIONS or row.error.startswith("eager: "), row.id
    assert len(read) > 900


def test_the_built_table_is_up_to_date() -> None:
    script = [sys.executable, str(ROOT / "benchmarks" / "make_operation_tables.py"), "build", "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or "run benchmarks/make_operation_tables.py build"


@pytest.mark.parametrize("method", ["item", "__bool__", "__int__", "__float__", "__index__"])
def test_reading_a_scalar(method: str) -> None:
    assert operations.method(method).effect == "scalar-read"


def test_one_entry_answers_for_function_and_method() -> None:
    for name in ("torch.nonzero", "Tensor.nonzero", "torch.Tensor.nonzero"):
        assert kind(name) == "dynamic-shape"
    assert operations.lookup("torch.Tensor.item") is not None
    assert kind("torch.inverse") == kind("torch.linalg.inv") == "host-check"


def test_repeat_interleave_reads_the_repeats_unless_told_the_size() -> None:
    assert kind("Tensor.repeat_interleave", "tensor-repeats") == "size-read"
    assert kind("Tensor.repeat_interleave", "tensor-repeats", given=("output_size",)) is None
    assert kind("Tensor.repeat_interleave") is None


def test_one_hot_needs_the_number_of_classes() -> None:
    name = "torch.nn.functional.one_hot"
    assert kind(name, positionals=1) == "size-read"
    assert kind(name, positionals=2) is None
    assert kind(name, given=("num_classes",), positionals=1) is None


def test_where() -> None:
    assert kind("torch.where", "one-argument") == "dynamic-shape"
    assert kind("torch.where") is None
    assert kind("torch.where", "cpu-scalar") == "host-data"


def test_bincount_reads_even_with_minlength() -> None:
    assert kind("torch.bincount", given=("minlength",)) == "size-read"


def test_histc_needs_both_bounds() -> None:
    assert kind("torch.histc", given=("min",)) == "size-read"
    assert kind("torch.histc", given=("min", "max")) is None


def test_moving_between_host_and_device() -> None:
    assert kind("Tensor.to", "to-cpu", "blocking") == "bulk-read"
    assert kind("Tensor.to", "to-cpu") is None
    assert kind("Tensor.to", "to-gpu", "pageable") == "host-data"
    assert kind("Tensor.to", "to-gpu", "pinned", "blocking") == "sync"
    assert kind("Tensor.to", "to-gpu", "pinned") is None
    assert kind("Tensor.copy_", "to-cpu", "pageable") == "bulk-read"
    assert kind("torch.tensor", "host-data", "to-gpu") == "host-data"
    assert kind("torch.tensor", "host-data") is None


def test_reading_by_index() -> None:
    def get(*holds: str) -> str | None:
        return kind("Tensor.__getitem__", *holds)

    assert get("mask-index") == "dynamic-shape"
    assert get("list-index") == get("cpu-index") == "host-data"
    assert get("scalar-index") == "scalar-read"
    assert get("tensor-index") is get("single-element") is get("cpu-mask-index") is None


def test_writing_by_index() -> None:
    def put(*holds: str) -> str | None:
        return kind("Tensor.__setitem__", *holds)

    assert put("single-element", "number-value") == "host-data"
    assert put("number-value") is None
    assert put("single-element", "tensor-value") is None
    assert put("mask-index", "number-value") is None
    assert put("mask-index", "tensor-value") == "dynamic-shape"
    assert put("tensor-index", "number-value") == "host-data"
    assert put("tensor-index", "tensor-value") is None
    assert put("scalar-index", "tensor-value") == "scalar-read"


def test_sizes_that_are_tensors() -> None:
    zeros = operations.function("torch.zeros")
    assert zeros is not None and zeros.takes_number(0) and zeros.factory and zeros.device == "argument"
    view = operations.method("view")
    assert view.takes_number(1) and not view.takes_number(0)
    assert kind("Tensor.view", "tensor-as-number") == "scalar-read"


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("view", "view"),
        ("transpose", "view"),
        ("detach", "view"),
        ("expand", "view"),
        ("unsqueeze", "view"),
        ("reshape", "maybe-view"),
        ("contiguous", "maybe-view"),
        ("to", "maybe-view"),
        ("float", "maybe-view"),
        ("half", "maybe-view"),
        ("flatten", "maybe-view"),
        ("split", "views"),
        ("chunk", "views"),
        ("unbind", "views"),
        ("copy_", "inplace"),
        ("masked_fill_", "inplace"),
        ("bernoulli_", "inplace"),
        ("zero_", "inplace"),
        ("clone", "fresh"),
        ("where", "fresh"),
        ("size", "shape"),
        ("numel", "shape"),
        ("data_ptr", "host-meta"),
        ("is_contiguous", "host-meta"),
        ("is_floating_point", "host-meta"),
        ("item", "host-number"),
        ("equal", "host-bool"),
        ("tolist", "host-list"),
        ("numpy", "numpy"),
        ("topk", "tuple:2"),
        ("sort", "tuple:2"),
        ("backward", "none"),
    ],
)
def test_results(name: str, result: str) -> None:
    assert operations.method(name).result == result


def test_reductions() -> None:
    assert operations.method("sum").reduces == operations.method("max").reduces == "without-dim"
    assert operations.method("max").with_dim == operations.method("min").with_dim == "tuple:2"
    assert operations.method("trace").reduces == "always"
    assert operations.method("any").dtype == operations.method("isnan").dtype == "bool"
    assert operations.method("argmax").dtype == "int"


def test_attributes() -> None:
    for name, result in (
        ("T", "view"),
        ("shape", "shape"),
        ("dtype", "host-meta"),
        ("data", "view"),
        ("ndim", "shape"),
    ):
        attribute = operations.attribute(name)
        assert attribute is not None and attribute.result == result
    assert operations.attribute("no_such_attribute") is None


def test_names_without_an_entry() -> None:
    plain = operations.function("torch.nn.functional.gelu")
    assert plain is not None and plain.effect == "none" and plain.result == "fresh"
    assert operations.method("some_custom_").result == "inplace"
    assert operations.method("__some_dunder__").result == "fresh"
    for unknown in (
        "torch.cuda.no_such_call",
        "torch.distributed.no_such_call",
        "torch.utils.data.x",
        "os.getcwd",
    ):
        assert operations.function(unknown) is None


def test_waiting_needs_no_tensor() -> None:
    for name in ("torch.cuda.synchronize", "torch.cuda.Stream.synchronize", "torch.cuda.Event.synchronize"):
        operation = operations.lookup(name)
        assert operation is not None and operation.effects[0].always and operation.effect == "sync"
    assert kind("torch.cuda.Event.query") == "query"
    assert kind("torch.distributed.barrier") == "collective-host"


def test_random_and_warm_up() -> None:
    assert operations.method("normal_").random and operations.method("bernoulli").random
    assert operations.method("matmul").warmup and not operations.method("add").warmup


LIBRARIES = ("torch.", "Tensor.", "cupy.", "warp.", "cuda.", "triton.", "numpy.", "flashinfer.", "apex.")
FREE_OF_LISTS = sorted([*(ROOT / "rules").glob("*.py"), *(ROOT / "graphlint" / "analysis").glob("*.py")])


def _lists_of_names(tree: ast.AST) -> Iterator[ast.expr]:
    """Tuples, lists, sets and dicts of three or more names of libraries."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
            parts = (
                node.values if isinstance(node, ast.Dict) else node.elts
            )  # the keys may be those of models
            texts = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
            if sum(text.startswith(LIBRARIES) for text in texts) > 2:
                yield node


def test_names_of_libraries_are_listed_in_the_tables() -> None:
    """Models and rules name what they are about; which names are of a kind is data, in `rules/tables`."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FREE_OF_LISTS}
    found = [f"{path.name}:{node.lineno}" for path, tree in trees.items() for node in _lists_of_names(tree)]
    assert not found


def test_every_list_of_the_tables_is_asked_for() -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("rules", "graphlint/analysis")
        for path in sorted((ROOT / folder).rglob("*.py"))
    )
    lists = json.loads((ROOT / "rules" / "tables" / "operations.json").read_text(encoding="utf-8"))
    unused = [key for part in ("lists", "maps") for key in lists[part] if f'"{key}"' not in code]
    assert not [key for key in unused if not key.startswith("without_")]
