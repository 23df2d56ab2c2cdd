"""Which wrong programs the sentinel finds, by which check and in which mode, and that it says nothing of
right ones.

`python benchmarks/sentinel_table.py [--cases FOLDER] [--out FILE] [--gpu]` runs the scenarios of
tests/sentinel/scenarios that were measured as silently wrong or as right, and the annotated programs of a
folder that holds `inference` and `training` with their `drive.py`, each in a process of its own, and writes
a table in Markdown. With `--gpu` the programs run on the GPU.
`--only NAME` runs one scenario, or one program of the folder, such as `inference/003_..._bug`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
MODES = ("watch", "canary", "test")
GPU = "--gpu" in sys.argv
SECONDS = 90

# What is wrong, of those that end without an error and give something else than what is meant.
SILENT = {
    "inlet_missing_default_stream": "the captured stream does not wait for the input",
    "pinned_local_dropped": "pinned memory of a recorded copy is freed",
    "pinned_outer_dropped": "the same, and handed to somebody else",
    "pinned_war_in_capture": "pinned memory is rewritten between two recorded copies",
    "input_freed_reused": "an input is freed and its memory handed to somebody else",
    "rebind_input": "an input is bound to a new tensor",
    "param_data_swap": "a weight gets new memory",
    "load_state_dict_inplace": "weights are assigned from a state",
    "shared_pool_clobber": "an output is overwritten by another graph of the pool",
    "accumulate_outputs": "one output is collected three times",
    "autocast_cache": "the cast weights of autocast's cache are part of the graph",
    "zero_grad_between": "gradients are set to None between replays",
    "grad_preexisting_accumulates": "gradients add up from replay to replay",
    "cpu_rng_baked": "a random number of the host is frozen",
    "python_side_effect": "a counter of Python runs once",
    "lr_float_baked": "a learning rate is frozen",
    "sgd_lr_baked": "a learning rate is frozen, in an optimizer",
    "broadcast_copy_silent": "a copy into an input repeats one element",
    "mgc_shape_broadcast": "the same, in a graphed callable",
    "padding_stale_rows": "rows of an earlier batch are part of a sum",
    "host_item_after_replay_no_sync": "the host reads before it waits",
    "replay_other_stream_race": "an output is read on another stream",
    "mgc_two_outputs_alias": "two results of a graphed callable are one tensor",
    "mgc_double_forward_backward": "two forward runs before the backward of the first",
    "pinned_race_replay": "pinned memory is rewritten before a replay has read it",
}
RIGHT = (
    "backward_no_side_warmup",
    "custom_gen_registered",
    "dropout_varies",
    "mgc_eval_after_train",
    "seed_between_replays",
    "two_captures_threads",
)

Row = dict[str, Any]


def shared_pool_clobber() -> Any:
    from tests.sentinel.capturing import capture

    given = torch.ones(4, device="cuda")
    first, _one = capture(lambda: (given + 1) + 1)
    second, two = capture(lambda: given * 4, pool=first.pool())
    second.replay()
    first.replay()
    return two.tolist()


def mgc_two_outputs_alias() -> Any:
    net, given = torch.nn.Linear(4, 4).cuda(), torch.ones(4, 4, device="cuda")
    graphed = torch.cuda.make_graphed_callables(net, (given,))
    first, second = graphed(given), graphed(given * 2)
    return (first - second).tolist()


# The measurement looks at addresses or has nothing read: the same hazards in programs that suffer from them.
OWN: dict[str, Callable[[], Any]] = {
    function.__name__: function for function in (shared_pool_clobber, mgc_two_outputs_alias)
}


def scenario(name: str) -> Callable[[], Any]:
    from tests.sentinel.scenarios import PROGRAMS, gradients, graphs, memory, streams

    assert gradients and graphs and memory and streams
    if name in OWN:
        return OWN[name]
    function, order = PROGRAMS[name]
    chosen: Callable[[], Any] = function
    vars(chosen)["order"] = order
    return chosen


def load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def modules_kept() -> Iterator[None]:
    """Have each module of a program live on to its end.

    A driver may hand a module over and let it go, after which a graph reads freed memory. Whether a program
    keeps its modules is for who uses it to say, and no part of the hazard that it stands for.
    """
    plain, kept = torch.nn.Module.__init__, []

    def keeping(self: Any, *args: Any, **kwargs: Any) -> None:
        kept.append(self)
        plain(self, *args, **kwargs)

    torch.nn.Module.__init__ = keeping
    try:
        yield
    finally:
        torch.nn.Module.__init__ = plain


def case(path: Path) -> Callable[[], Any]:
    """An annotated program, run by its folder's driver."""

    def run() -> Any:
        driver = load(path.parent / "drive.py", "drive")
        with modules_kept():
            if path.parent.name == "inference":
                key = path.name[:8] if path.name.startswith("clean") else path.name[:3]
                return driver.drivers()[key](load(path, "case"))
            driver.init()
            key = path.name[:3] if path.name[:3].isdigit() else path.stem
            return driver.D[key](load(path, "case"))

    return run


def outcome(run: Callable[[], Any], mode: str) -> Row:
    """What is found in one mode."""
    from graphlint.sentinel import watch

    orders: Any = getattr(run, "order", "early")
    device: dict[str, Any] = {} if GPU else {"virtual": True, "order": orders}
    error = ""
    with watch(mode, **device) as watching, warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(0)
            run()
            torch.cuda.synchronize()
        except Exception as raised:
            error = f"{type(raised).__name__}: {str(raised).splitlines()[0] if str(raised) else ''}"
    found = sorted({(finding.code, finding.check, finding.confidence) for finding in watching.findings})
    return {
        "found": found,
        "error": error,
        "messages": [f.message for f in watching.findings] + watching.unseen,
    }


def apart(run: Callable[[], Any], mode: str) -> Row:
    """The same in a process of its own; this one never uses a GPU, which a forked one could not use then."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if child == 0:
            os.setpgrp()
            signal.alarm(SECONDS)
            os.write(file.fileno(), json.dumps(outcome(run, mode)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what the program has started
        file.seek(0)
        text = file.read().decode()
    row: Row = json.loads(text) if text else {"found": [], "error": "it did not end", "messages": []}
    return row


def shown(row: Row) -> str:
    if row["found"]:
        return ", ".join(f"{code} {check}" for code, check, _ in row["found"])
    return row["error"].split(":")[0] or "–"


def table(title: str, programs: dict[str, tuple[str, Callable[[], Any]]], wanted: bool | None) -> list[str]:
    """One table. `wanted` says whether findings are hoped for; None where it depends on the program's
    errors."""
    if not programs:
        return []
    lines = [
        f"## {title}",
        "",
        "| program | what is wrong | " + " | ".join(MODES) + " |",
        "|---|---|" + "---|" * len(MODES),
    ]
    good = {mode: 0 for mode in (*MODES, "any")}
    for name, (wrong, run) in programs.items():
        rows = {mode: apart(run, mode) for mode in MODES}
        print(name, {mode: shown(row) for mode, row in rows.items()}, flush=True)
        lines.append(f"| {name} | {wrong} | " + " | ".join(shown(rows[mode]) for mode in MODES) + " |")
        for mode in MODES:
            good[mode] += bool(rows[mode]["found"]) == bool(wanted)
        found_any = any(rows[mode]["found"] for mode in MODES)
        good["any"] += found_any == bool(wanted)
        for message in {text for row in rows.values() for text in row["messages"]}:
            print("     ", message[:200])
    what = "found" if wanted else "without a finding"
    counts = ", ".join(f"{mode} {count}" for mode, count in good.items() if mode != "any")
    lines += [
        "",
        f"{what}: {counts}, {'in one of them' if wanted else 'in all'} {good['any']}, of {len(programs)}",
        "",
    ]
    return lines


def case_paths(folder: Path) -> dict[str, Path]:
    """The annotated programs of a folder by name."""
    paths = sorted(path for path in folder.glob("*/*.py") if path.stem != "drive")
    return {f"{path.parent.name}/{path.stem}": path for path in paths}


def cases(folder: Path, bad: bool, only: str | None) -> dict[str, tuple[str, Callable[[], Any]]]:
    return {
        name: ("", case(path))
        for name, path in case_paths(folder).items()
        if name.endswith("_bug") == bad and only in (None, name)
    }


def option(name: str) -> str | None:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def warm() -> None:
    """Load what a first capture loads, before processes are forked."""
    from graphlint.sentinel import watch

    torch.set_num_threads(1)
    with watch("test", virtual=True):
        layer, x = torch.nn.Linear(4, 4).cuda(), torch.ones(2, 4, device="cuda")
        layer(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            layer(x).sum().backward()
        graph.replay()


def main() -> None:
    if not GPU:
        warm()
    lines = [f"torch {torch.__version__}, {'H200' if GPU else 'the virtual device'}", ""]
    only = option("--only")
    silent = {name: (wrong, scenario(name)) for name, wrong in SILENT.items() if only in (None, name)}
    lines += table("Scenarios that are silently wrong", silent, True)
    right = {name: ("", scenario(name)) for name in RIGHT if only in (None, name)}
    lines += table("Scenarios that are right", right, False)
    folder = option("--cases")
    if folder is not None:
        lines += table("Annotated programs with a hazard", cases(Path(folder), True, only), True)
        lines += table("Annotated programs without", cases(Path(folder), False, only), False)
    text = "\n".join(lines)
    out = option("--out")
    if out is not None:
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        Path(out).write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
