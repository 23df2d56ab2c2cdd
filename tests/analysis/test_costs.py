"""Programs that are large, deep or made of themselves: each is analysed to its end at a cost like its length."""

from __future__ import annotations

import pytest

from tests.programs import check_marked_rules, findings, regions, unresolved, with_region

MARK = "x.sum().item()  # expect: CG302"


def _chained(definition: str, length: int) -> str:
    return "\n".join(definition.format(i=i, last=i - 1) for i in range(1, length))


@pytest.mark.parametrize(
    "definition",
    [
        "class C{i}(C{last}): pass",
        "class C{i}(C{last}):\n    def run(self, x): return super().run(x)",
        "class A{i}(C{last}): pass\nclass B{i}(C{last}): pass\nclass C{i}(A{i}, B{i}): pass",
    ],
)
def test_each_class_of_a_deep_hierarchy_is_ordered_once(definition: str) -> None:
    root = "class C0:\n    def run(self, x): return x.item()  # expect: CG302\n"
    length = 40 if "super" in definition else 100
    check_marked_rules(with_region(root + _chained(definition, length), f"C{length - 1}().run(x)"))


def test_loops_within_each_other_do_not_multiply() -> None:
    loops = "\n".join(f"{'    ' * i}for i{i} in range(60):" for i in range(12))
    body = "    " * 12
    region = f"{loops}\n{body}x.add_(i11)\n{body}x.sum().item()  # expect: CG302"
    assert sum(region_.unresolved != () for region_ in regions(with_region("", region))) == 0
    check_marked_rules(with_region("", region))


DOUBLED = {
    "numbers": "c{i} = c{last} * c{last}",
    "sums": "c{i} = c{last} + c{last}",
    "comparisons": "c{i} = c{last} < c{last}",
    "texts": "c{i} = f'{{c{last}}}{{c{last}}}'",
    "tuples": "c{i} = (c{last}, c{last})",
    "lists": "c{i} = [c{last}, c{last}]",
    "concatenations": "c{i} = [*c{last}, *c{last}]",
    "zipped": "c{i} = list(zip([c{last}], [c{last}]))",
    "alternatives": "c{i} = (c{last}, 1) if unknown else (2, c{last})",
}


@pytest.mark.parametrize("definition", DOUBLED.values(), ids=DOUBLED)
def test_values_made_twice_of_the_last_one_do_not_double_the_work(definition: str) -> None:
    uses = "x.add_(c59)\nd = {c59: 1}\nd[c58] = 2\nx[c59]\nprint(c59)\nif c59 == c58: x.add_(1)"
    check_marked_rules(
        with_region("import os\nc0 = int(os.environ['N'])\n" + _chained(definition, 60), f"{uses}\n{MARK}")
    )


@pytest.mark.parametrize(
    "expression",
    [
        "'a'.zfill(10**11)",
        "'a'.ljust(10**11)",
        "b'%99999999999d' % 5",
        "((10**64)**64)**64**1",
        "[0] * 10**11",
        "1 << 10**11",
        "[1, 2][::0]",
    ],
)
def test_no_operand_is_worked_out_that_would_fill_the_memory(expression: str) -> None:
    check_marked_rules(with_region("", f"y = {expression}\n{MARK}"))


def test_texts_that_double_are_given_up() -> None:
    check_marked_rules(with_region("", "c0 = 'a'\n" + _chained("c{i} = c{last} + c{last}", 60) + f"\n{MARK}"))


def test_containers_may_hold_themselves() -> None:
    check_marked_rules(
        with_region(
            "l = []\nd = {}\nclass Node: pass\nn = Node()",
            f"""
            y = x + 1
            l.append(y)
            l.append(l)
            d["d"] = d
            n.n = n
            n.l = l
            print(l[1][1], d["d"], n.n)
            x.add_(l)
            isinstance(x, l)
            {MARK}
            """,
        )
        + "graph.replay()\nkept = l\nother = (l, d, n)\nkept[1][1]\ngraph.replay()\nprint(other)\n"
    )


def test_every_operand_of_a_long_condition_is_judged() -> None:
    found = findings(with_region("", "y = x" + " and x" * 1000))
    assert len({each.span.column for each in found}) >= 1000


def test_a_long_chain_of_unknown_calls_is_counted_by_its_beginning() -> None:
    texts = unresolved(with_region("", "y = unknown" + ".add(1)" * 500))
    assert texts and max(map(len, texts)) <= 120
