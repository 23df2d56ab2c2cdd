"""Counts graphlint's findings in released packages and compares them with docs/measured/ecosystem.json.

    python benchmarks/ecosystem.py [--folder DIR] [--package NAME]... [--update]

The wheels are fetched with pip in the versions that the data names and only their Python sources are
unpacked, into a temporary folder or into DIR, where they are found again. The exit code is 1 when a count
differs from the data; `--update` writes the new counts instead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
JSON = ("--output-format", "json")
DATA = REPOSITORY / "docs" / "measured" / "ecosystem.json"


def main() -> int:
    options = _options()
    known = json.loads(DATA.read_text(encoding="utf-8"))
    names = options.package or list(known["packages"])
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        found = {name: _measure(name, known["packages"][name]["version"], folder) for name in names}
    if options.update:
        known["packages"].update(found)
        DATA.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
        return 0
    return int(any([_compare(name, known["packages"][name], found[name]) for name in names]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, help="keep wheels and sources here")
    parser.add_argument("--package", action="append", help="measure this package only; may be repeated")
    parser.add_argument("--update", action="store_true", help="write the counts into the data")
    return parser.parse_args()


def _measure(name: str, version: str, folder: Path) -> dict[str, Any]:
    """The counts of one package; what the linter cannot do in it is an error of this program."""
    tree = _sources(name, version, folder)
    shutil.rmtree(tree / ".graphlint_cache", ignore_errors=True)
    started = time.monotonic()
    document = json.loads(_graphlint(tree, "check", ".", "--exit-zero", *JSON))
    print(f"{name} {version}: {time.monotonic() - started:.1f} s", flush=True)
    shares = json.loads(_graphlint(tree, "regions", ".", *JSON))["shares"]
    codes = Counter(finding["code"] for finding in document["findings"])
    return {
        "version": version,
        "findings": dict(sorted(codes.items())),
        "summary": document["summary"],
        "shares": shares,
    }


def _graphlint(tree: Path, command: str, *arguments: str) -> str:
    """What a command prints; files that a package ships broken end it with 2 and are printed here."""
    called = [sys.executable, "-m", "graphlint", command, "--isolated", *arguments]
    done = subprocess.run(called, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2) or "Traceback" in done.stderr:
        raise SystemExit(f"{tree.name}: graphlint {command} ended with {done.returncode}\n{done.stderr}")
    print(done.stderr, end="")
    return done.stdout


def _sources(name: str, version: str, folder: Path) -> Path:
    """The unpacked Python files of a release."""
    tree = folder / f"{name}-{version}"
    if tree.is_dir():
        return tree
    wheels = folder / "wheels" / name
    wheels.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--dest", str(wheels), f"{name}=={version}"], check=True)
    wheel = next(iter(sorted(wheels.glob("*.whl"))))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tree, [each for each in archive.namelist() if each.endswith(".py")])
    return tree


def _compare(name: str, before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Print what differs; True when something does."""
    differences = [
        f"  {key}: {before.get(part, {}).get(key, 0)} -> {now[part].get(key, 0)}"
        for part in ("findings", "summary", "shares")
        for key in sorted({*before.get(part, {}), *now[part]})
        if before.get(part, {}).get(key, 0) != now[part].get(key, 0)
    ]
    print("\n".join([f"{name}: {len(differences)} counts differ", *differences]))
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main())
