"""The cache never changes an answer, whatever happens to its file."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from graphlint.facts import cache as cache_module
from graphlint.facts import inventory
from graphlint.facts import scan as scanner
from graphlint.facts.cache import FILE_NAME, FactsCache, clean
from graphlint.facts.inventory import Scanned, take
from graphlint.facts.scan import FileScan
from graphlint.facts.scan import scan as real_scan

OLD = 1_000_000_000


@pytest.fixture(autouse=True)
def _old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files just written count as old enough to be known by their status."""
    monkeypatch.setattr(cache_module, "_RACY_NS", -(10**18))


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    folder = tmp_path / "code"
    folder.mkdir()
    for number in range(4):
        (folder / f"m{number}.py").write_text(f"def größe{number}(): g.replay()\nself.x{number} = 1\n")
    return [str(path) for path in sorted(folder.iterdir())]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".graphlint_cache"


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the contents that are really scanned."""
    counted: list[int] = []

    def counting(data: bytes) -> FileScan:
        counted.append(len(data))
        return real_scan(data)

    monkeypatch.setattr(inventory, "scan", counting)
    return counted


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are really read."""
    counted: list[str] = []
    real = inventory.read

    def counting(path: str) -> bytes:
        counted.append(path)
        return real(path)

    monkeypatch.setattr(inventory, "read", counting)
    return counted


def run(paths: list[str], folder: Path) -> dict[str, Scanned]:
    cache = FactsCache(folder)
    scanned = take(paths, cache, jobs=1)
    cache.save()
    return scanned


def test_a_second_run_reads_nothing_and_answers_the_same(
    paths: list[str], folder: Path, reads: list[str]
) -> None:
    first = run(paths, folder)
    assert len(reads) == 4
    assert run(paths, folder) == first == take(paths)
    assert len(reads) == 8  # the four of the comparison without a cache


def test_a_changed_file_alone_is_scanned(paths: list[str], folder: Path, scans: list[int]) -> None:
    run(paths, folder)
    Path(paths[1]).write_text("def other(): pass")
    scanned = run(paths, folder)
    assert scanned[paths[1]].scan.defines == {"other"}
    assert len(scans) == 5


def test_a_touched_or_moved_file_is_known_by_its_content(
    paths: list[str], folder: Path, scans: list[int]
) -> None:
    run(paths, folder)
    os.utime(paths[0], (OLD, OLD))
    moved = paths[1].replace("m1", "n1")
    os.rename(paths[1], moved)
    run([paths[0], moved], folder)
    assert len(scans) == 4


def test_a_file_modified_just_before_the_run_is_read_again(
    paths: list[str], folder: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_RACY_NS", 2_000_000_000)
    run(paths, folder)
    run(paths, folder)
    assert len(reads) == 8


def test_same_size_and_times_but_new_content_is_noticed(paths: list[str], folder: Path) -> None:
    run(paths, folder)
    before = os.stat(paths[0])
    text = Path(paths[0]).read_text()
    Path(paths[0]).write_text(text.replace("self.x0", "self.y0"))
    os.utime(paths[0], ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(paths, folder)[paths[0]].scan.writes == {"y0"}


def test_a_file_cut_off_anywhere_is_an_empty_cache(paths: list[str], folder: Path) -> None:
    whole = run(paths, folder)
    data = (folder / FILE_NAME).read_bytes()
    for length in range(len(data)):
        (folder / FILE_NAME).write_bytes(data[:length])
        assert FactsCache(folder).by_digest(whole[paths[0]].digest) is None
    (folder / FILE_NAME).write_bytes(data)
    assert FactsCache(folder).by_digest(whole[paths[0]].digest) == whole[paths[0]].scan


def test_a_flipped_byte_anywhere_is_an_empty_cache(paths: list[str], folder: Path) -> None:
    digest = run(paths, folder)[paths[0]].digest
    data = (folder / FILE_NAME).read_bytes()
    for at in range(len(data)):
        (folder / FILE_NAME).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert FactsCache(folder).by_digest(digest) is None


@pytest.mark.parametrize("name", ["__version__", "_FORMAT"])
def test_another_version_starts_afresh(
    paths: list[str], folder: Path, scans: list[int], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run(paths, folder)
    monkeypatch.setattr(cache_module, name, "next")
    run(paths, folder)
    assert len(scans) == 8


def test_another_scanner_starts_afresh(
    paths: list[str], folder: Path, scans: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(paths, folder)
    (tmp_path / "scan.py").write_text("# changed")
    monkeypatch.setattr(scanner, "__file__", str(tmp_path / "scan.py"))
    run(paths, folder)
    assert len(scans) == 8


def test_unused_scans_are_kept_for_some_runs_and_then_dropped(paths: list[str], folder: Path) -> None:
    digest = run(paths, folder)[paths[0]].digest
    for number in range(10):
        Path(paths[1]).write_text(f"x = {number}")
        run(paths[1:], folder)
        kept = FactsCache(folder).by_digest(digest) is not None
        assert kept == (number < 4)


def test_a_run_that_learned_nothing_writes_nothing(paths: list[str], folder: Path) -> None:
    run(paths, folder)
    before = (folder / FILE_NAME).stat().st_mtime_ns
    run(paths, folder)
    assert (folder / FILE_NAME).stat().st_mtime_ns == before


def test_a_folder_that_cannot_be_written_is_no_trouble(paths: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert len(run(paths, tmp_path / "file" / "cache")) == 4
    assert run(paths, Path("/proc/nowhere")) == take(paths)


def test_the_folder_says_that_it_is_a_cache(paths: list[str], folder: Path) -> None:
    run(paths, folder)
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert (folder / ".gitignore").read_text() == "*\n"
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "CACHEDIR.TAG", FILE_NAME]


def test_clean_removes_a_cache_and_nothing_else(paths: list[str], folder: Path, tmp_path: Path) -> None:
    run(paths, folder)
    assert clean(folder)
    assert not folder.exists()
    assert not clean(folder)
    assert not clean(tmp_path / "code")
    assert (tmp_path / "code").is_dir()


def test_a_link_to_a_cache_is_left_alone(paths: list[str], folder: Path, tmp_path: Path) -> None:
    run(paths, folder)
    (tmp_path / "link").symlink_to(folder)
    assert not clean(tmp_path / "link")
    assert folder.is_dir()


WRITER = """
import sys
from pathlib import Path
from graphlint.facts import cache
from graphlint.facts.inventory import take
cache._RACY_NS = -(10**18)
for round in range(20):
    facts = cache.FactsCache(Path(sys.argv[1]))
    facts._learned = True
    take(sys.argv[2:], facts, jobs=1)
    facts.save()
"""


def test_concurrent_writers_leave_a_whole_file(paths: list[str], folder: Path) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), *paths], env=environment)
        for _ in range(4)
    ]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        seen += bool(FactsCache(folder)._rows)
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    assert seen
    assert run(paths, folder) == take(paths)
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "CACHEDIR.TAG", FILE_NAME]


def test_no_executable_bits_or_pickles(paths: list[str], folder: Path) -> None:
    run(paths, folder)
    assert not (folder / FILE_NAME).stat().st_mode & stat.S_IXUSR
    assert "pickle" not in Path(cache_module.__file__).read_text().replace("no pickle", "")
