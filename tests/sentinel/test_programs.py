"""`graphlint run` runs a program as Python does: the same output, errors, exit code and surroundings."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GRAPHLINT = ("-m", "graphlint", "run")
Result = subprocess.CompletedProcess[str]


def python(folder: Path, *arguments: str) -> Result:
    """What a Python without torch gives for a command line, in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GRAPHLINT_SENTINEL": "off"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )


def same(folder: Path, *arguments: str) -> Result:
    """The result of a command line, after comparing it with that of `graphlint run`."""
    plain, run = python(folder, *arguments), python(folder, *GRAPHLINT, *arguments)
    assert (run.stdout, run.stderr) == (plain.stdout, plain.stderr)
    assert run.returncode == plain.returncode
    return plain


WHERE = (
    "import sys; print(sys.argv, sys.path[0], __name__, __file__, __package__, __spec__ and __spec__.name)"
)
ENDS = {
    "nothing": "",
    "a number": "import sys; sys.exit(3)",
    "none": "import sys; sys.exit(None)",
    "text": "import sys; sys.exit('so it ends')",
    "another object": "import sys; sys.exit([1])",
    "an error": "def fail(): raise ValueError('no')\nfail()",
    "a chain of errors": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise KeyError('x')",
    "a syntax error": "def f(:\n    pass",
    "an interrupt": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(9)",
    "no handlers": "import os; os._exit(7)",
    "a hook": "import sys\nsys.excepthook = lambda kind, *_: print('hook', kind)\nraise ValueError",
}


@pytest.mark.parametrize("program", ENDS.values(), ids=ENDS)
def test_a_program_ends_as_it_does(tmp_path: Path, program: str) -> None:
    (tmp_path / "program.py").write_text(f"print('begins')\n{program}\n", encoding="utf-8")
    same(tmp_path, "program.py")


def test_a_script_finds_its_arguments_and_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "neighbour.py").write_text("print('found')\n", encoding="utf-8")
    (tmp_path / "tools" / "program.py").write_text(f"{WHERE}\nimport neighbour\n", encoding="utf-8")
    assert "'--mode', 'x', '-m'" in same(tmp_path, "tools/program.py", "--mode", "x", "-m").stdout
    (tmp_path / "link.py").symlink_to("tools/program.py")
    assert "found" in same(tmp_path, "link.py").stdout


def test_no_compiled_copy_of_a_script_is_left(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("", encoding="utf-8")
    python(tmp_path, *GRAPHLINT, "program.py")
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_a_source_may_declare_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_bytes("# -*- coding: latin-1 -*-\nprint(ascii('é'))\n".encode("latin-1"))
    assert same(tmp_path, "program.py").stdout == "'\\xe9'\n"


def test_modules_packages_folders_and_archives_are_programs(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for name in ("__init__", "other"):
        (tmp_path / "package" / f"{name}.py").write_text(WHERE, encoding="utf-8")
    (tmp_path / "package" / "__main__.py").write_text(f"{WHERE}\nfrom . import other\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text(WHERE, encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "archive.pyz", "w") as archive:
        archive.writestr("__main__.py", WHERE)
    for target in (("-m", "package"), ("-m", "package.other"), ("folder",), ("archive.pyz",)):
        assert "'-x'" in same(tmp_path, *target, "-x").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.py",), "graphlint: absent.py does not exist\n"),
        (("empty",), "graphlint: empty holds no __main__.py\n"),
        (("-m", "absent.module"), "graphlint: no module named absent.module\n"),
        (("-m", "empty"), "graphlint: empty is a package and has no module empty.__main__\n"),
    ],
)
def test_where_there_is_nothing_to_run_it_says_so(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    result = python(tmp_path, *GRAPHLINT, *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message)


def test_an_error_in_an_import_is_the_programs_own(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("import absent_library\n", encoding="utf-8")
    (tmp_path / "program.py").write_text("import package\n", encoding="utf-8")
    same(tmp_path, "program.py")
    result = python(tmp_path, *GRAPHLINT, "-m", "package")
    assert result.returncode == 1
    assert "No module named 'absent_library'" in result.stderr


def test_threads_and_exit_handlers_have_their_time(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import atexit, threading, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "atexit.register(print, 'at exit')\n"
        "executor = ThreadPoolExecutor(1)\n"
        "executor.submit(lambda: (time.sleep(0.1), print('in a pool')))\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), print('in a thread', __name__))).start()\n"
        "threading.Thread(target=lambda: time.sleep(60), daemon=True).start()\n"
        "raise SystemExit(4)\n",
        encoding="utf-8",
    )
    assert same(tmp_path, "program.py").stdout == "in a pool\nin a thread __main__\nat exit\n"


def test_what_is_defined_in_the_program_can_be_found_there(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import multiprocessing, pickle\n"
        "class Thing: pass\n"
        "def work(thing): return type(thing).__name__\n"
        "if __name__ == '__main__':\n"
        "    print(pickle.loads(pickle.dumps(Thing())).__class__ is Thing)\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool: print(pool.map(work, [Thing()]))\n",
        encoding="utf-8",
    )
    assert same(tmp_path, "program.py").stdout == "True\n['Thing']\n"


def test_warnings_and_frames_are_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import inspect, warnings\nwarnings.warn('old', DeprecationWarning)\nprint(inspect.currentframe().f_lineno)\n",
        encoding="utf-8",
    )
    assert "DeprecationWarning: old" in same(tmp_path, "program.py").stderr
