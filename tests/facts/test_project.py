"""Which files of a project are parsed, found and reported."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from graphlint.facts.inventory import take
from graphlint.facts.mentions import Mentions
from graphlint.facts.modules import ModuleFile
from graphlint.facts.project import Project

from .conftest import MakeProject


def shown(modules: Iterable[ModuleFile]) -> list[str]:
    return [module.display for module in modules]


def problems(project: Project) -> list[tuple[str, str]]:
    return [(problem.display, problem.reason) for problem in project.problems]


FILES = {
    "b.py": "g.replay()\nself.buffer = 1",
    "a.py": "def capture_model(): g.capture_begin()",
    "c.py": "capture_model()",
    "d.py": "capture_models()",
}


def test_marked_files_come_in_path_order(project: MakeProject) -> None:
    assert shown(project(FILES).marked()) == ["a.py", "b.py"]


def test_files_are_found_by_what_they_write_and_mention(project: MakeProject) -> None:
    made = project(FILES)
    assert shown(made.writing("buffer")) == ["b.py"]
    assert shown(made.mentioning("capture_model")) == ["a.py", "c.py"]
    assert [path.name for path in made.mention_paths("capture_model", "buffer")] == ["a.py", "b.py", "c.py"]
    assert shown(made.mentioning("absent", "")) == []


def test_files_that_quote_a_name_are_those_whose_texts_start_with_it(project: MakeProject) -> None:
    texts = {"a.py": "op = 'ns::fill'", "b.py": "define('fill(Tensor x) -> ()')", "c.py": "'to fill'; fill()"}
    assert shown(project({**texts, "d.py": "def fill(x): ..."}).quoting("fill")) == ["a.py", "b.py", "d.py"]


def test_a_file_is_parsed_once(project: MakeProject) -> None:
    made = project(FILES)
    assert made.file(Path("a.py")) is made.marked()[0] is made.module("a")


def test_a_file_outside_the_project_is_none(project: MakeProject, tmp_path: Path) -> None:
    made = project(FILES)
    (tmp_path / "z.py").write_text("")
    assert made.file(tmp_path / "z.py") is None
    assert made.scan_of(tmp_path / "z.py").marks == frozenset()
    assert problems(made) == []


class TestProblems:
    def test_an_unmarked_file_nobody_asks_for_is_none(self, project: MakeProject) -> None:
        assert problems(project({"broken.py": "def ("})) == []

    def test_a_named_file_is_one(self, project: MakeProject, tmp_path: Path) -> None:
        made = project({"broken.py": "def ("}, named=[tmp_path / "broken.py"])
        [(display, reason)] = problems(made)
        assert (display, reason.partition(":")[0]) == ("broken.py", "syntax error")

    def test_a_marked_or_demanded_file_is_one_once(self, project: MakeProject) -> None:
        made = project({"broken.py": "g.replay(\0)", "other.py": "def ("})
        for _ in range(2):
            assert made.marked() == []
            assert made.module("other") is None
        assert [display for display, _ in problems(made)] == ["broken.py", "other.py"]

    def test_a_named_file_that_is_absent_is_one(self, project: MakeProject, tmp_path: Path) -> None:
        made = project({}, named=[tmp_path / "absent.py"])
        assert problems(made) == [("absent.py", "cannot be read: No such file or directory")]

    def test_a_broken_link_is_said_to_be_one(self, project: MakeProject, tmp_path: Path) -> None:
        (tmp_path / "link.py").symlink_to("nowhere.py")
        made = project({}, named=[tmp_path / "link.py"])
        assert problems(made) == [("link.py", "cannot be read: broken symbolic link")]
        assert problems(Project([tmp_path / "link.py"], cwd=tmp_path)) == []

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_forbidden_file_is_one(self, project: MakeProject, tmp_path: Path) -> None:
        made = project({"secret.py": ""})
        (tmp_path / "secret.py").chmod(0)
        assert made.file(Path("secret.py")) is None
        assert problems(made) == [("secret.py", "cannot be read: Permission denied")]

    def test_a_forbidden_file_is_one_for_root_as_well(
        self, project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = project({"secret.py": ""}, named=[tmp_path / "secret.py"])

        def forbid(path: str, *_: object) -> None:
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr("builtins.open", forbid)
        found = problems(made)
        monkeypatch.undo()
        assert found == [("secret.py", "cannot be read: Permission denied")]

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.py")
        made = Project([tmp_path / "pipe.py"], cwd=tmp_path, named=[tmp_path / "pipe.py"])
        assert problems(made) == [("pipe.py", "cannot be read: not a regular file")]

    def test_a_huge_file_is_one_when_named(
        self, project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("graphlint.facts.inventory.LARGEST_FILE", 10)
        files = {"huge.py": "x" * 11}
        assert problems(project(files)) == []
        assert problems(project(files, named=[tmp_path / "huge.py"])) == [("huge.py", "too large: 0 MB")]


class TestDisplay:
    def test_below_the_working_folder_it_is_relative(self, project: MakeProject) -> None:
        assert shown(project({"p/m.py": "g.replay()"}).marked()) == ["p/m.py"]

    def test_elsewhere_it_is_whole(self, project: MakeProject, tmp_path: Path) -> None:
        made = project({"p/m.py": "g.replay()"}, cwd=tmp_path / "p" / "q")
        assert shown(made.marked()) == [(tmp_path / "p/m.py").as_posix()]


MANY = {
    f"p{i % 7}/m{i}.py": f"def f{i}(): pass\nself.w{i % 3} = 1\n# {'.replay' * (i % 2)}" for i in range(60)
}


class TestSameAnswers:
    def test_for_any_number_of_jobs(self, project: MakeProject, tmp_path: Path) -> None:
        project(MANY)
        paths = [str(tmp_path / name) for name in MANY] + [str(tmp_path / "absent.py")]
        one = take(paths, jobs=1)
        assert take(paths, jobs=2) == take(paths, jobs=5) == take(paths, jobs=100) == one
        assert list(take(paths, jobs=2)) == paths

    def test_for_any_order_of_files(self, project: MakeProject) -> None:
        names = list(MANY)
        random.Random(1).shuffle(names)
        shuffled = project({name: MANY[name] for name in names})
        ordered = project(MANY)
        assert shown(shuffled.marked()) == shown(ordered.marked())
        assert shown(shuffled.writing("w1")) == shown(ordered.writing("w1"))
        assert shown(shuffled.mentioning("f7", "f8")) == shown(ordered.mentioning("f7", "f8"))

    def test_when_workers_cannot_start(
        self, project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project(MANY)
        paths = [str(tmp_path / name) for name in MANY]
        whole = take(paths, jobs=1)
        for executable in ("/nonexistent/python", "/bin/false", "/bin/true"):
            monkeypatch.setattr("sys.executable", executable)
            assert take(paths, jobs=3) == whole


class TestMentions:
    CONTENTS = (
        b"alpha beta",
        b"alphabet",
        b"",
        b"x.alpha()",
        b"_alpha alpha1",
        "älpha alpha".encode(),
        b"alpha",
    )

    def test_only_whole_words_count(self) -> None:
        assert Mentions(self.CONTENTS).of("alpha") == [0, 3, 5, 6]
        assert Mentions(self.CONTENTS).of("älpha") == [5]

    def test_the_index_after_many_searches_answers_the_same(self) -> None:
        mentions = Mentions(self.CONTENTS)
        for number in range(100):
            assert mentions.of(f"absent{number}") == []
        for name in ("alpha", "älpha", "alphabet", "beta", "_alpha", "alpha1", "x", ""):
            assert mentions.of(name) == Mentions(self.CONTENTS).of(name)

    def test_no_files(self) -> None:
        assert Mentions([]).of("alpha") == []


def test_a_star_import_can_give_only_names_that_its_files_hold(tmp_path: Path) -> None:
    files = {
        "user.py": "from pack import *\n",
        "pack/__init__.py": "from .deep import *\n",
        "pack/deep.py": "def here(): ...\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    project = Project([tmp_path / name for name in files])
    user = project.file(tmp_path / "user.py")
    assert user is not None
    assert project.may_give("pack", user, "here")
    assert not project.may_give("pack", user, "absent")
    assert project.may_give("elsewhere", user, "absent")


class TestRecalledSearches:
    def test_answers_of_an_earlier_run_hold_but_for_what_has_changed(self, tmp_path: Path) -> None:
        texts = {
            "a.py": "import torch\nrun(x)\nx.run = 1\n",
            "b.py": "import torch\n",
            "c.py": "def run(): pass\n",
        }
        asked = [("mentions", "run"), ("calls", "run"), ("writes", "run"), ("imports", "torch")]

        def project() -> Project:
            for name, text in texts.items():
                (tmp_path / name).write_text(text)
            return Project(sorted(tmp_path.glob("*.py")), cwd=tmp_path)

        def answers(made: Project) -> dict[tuple[str, str], tuple[str, ...]]:
            return {search: made._searched(*search) for search in asked}

        before = answers(project())
        texts |= {"a.py": "x = 1\n", "d.py": "import torch.cuda\nrun()\ny.run = 2\n"}
        changed = frozenset(str(tmp_path / name) for name in ("a.py", "d.py"))
        again = project()
        again.searches.recall(before, changed)
        assert answers(again) == answers(project()) != before

    def test_the_unchanged_files_are_not_searched_again(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("x = 1\n")
        made = Project([tmp_path / "a.py"], cwd=tmp_path)
        made.searches.recall({("mentions", "y"): (str(tmp_path / "a.py"),)}, frozenset())
        assert made.mention_paths("y") == [tmp_path / "a.py"]


def test_modules_asked_for_longest_ago_are_forgotten(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.py" for name in "abcd"]
    for path in paths:
        path.write_text("x = 1\n" * 10)
    made = Project(paths, cwd=tmp_path)
    first, second, third, fourth = map(made.file, paths)
    made.keep_parsed()
    made.forget(0)
    assert made.file(paths[0]) is first
    made = Project(paths, cwd=tmp_path)
    first, second, third, fourth = map(made.file, paths)
    made.file(paths[0])
    made.forget(2 * 60)
    assert made.parsed_bytes() == 2 * 60
    assert made.file(paths[3]) is fourth and made.file(paths[0]) is first
    assert made.file(paths[1]) is not second and made.file(paths[2]) is not third


def test_the_text_of_a_module_is_what_searches_hold(tmp_path: Path) -> None:
    plain, marked = tmp_path / "plain.py", tmp_path / "marked.py"
    text = "def f():\n    a = 'ü'\n    b = 2\n    return a\n"
    plain.write_bytes(text.encode())
    marked.write_bytes(b"\xef\xbb\xbf" + text.encode())  # a byte order mark is no text
    before = Project([plain, marked], cwd=tmp_path)
    after = Project([plain, marked], cwd=tmp_path)
    assert after.mention_paths("f") == [marked, plain]
    for path, shared in ((plain, True), (marked, False)):
        own, held = before.file(path), after.file(path)
        assert own is not None and held is not None
        assert (held.source.held is not own.source.held and held.source.begin > 0) is shared
        for each in (own, held):
            assert each.source.text == text and each.source.line(2) == "    a = 'ü'"
            assert each.source.piece((2, 8), (2, 12)).decode() == "'ü'"
            body = each.definitions("f")[0].body
            assert [(node.lineno, node.end_col_offset) for node in body] == [(2, 12), (3, 9), (4, 12)]


def test_a_file_that_has_changed_since_is_not_read_from_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    made = Project([tmp_path / "a.py"], cwd=tmp_path)
    assert made.mention_paths("x")
    (tmp_path / "a.py").write_text("y = 1\n")
    module = made.file(tmp_path / "a.py")
    assert module is not None and module.source.text == "y = 1\n"
