"""How near a definition is to a capture by its text: that decides how long its run may wait for one."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from graphlint.analysis.classes import Def, last_name
from graphlint.analysis.own_text import is_declared, text_of
from graphlint.analysis.roots import Root
from graphlint.facts import nodes as ast

_CALLED_BY_OTHER_NAMES = frozenset({"forward"})


class Way(IntEnum):
    """What the text of a definition says of its way to a capture."""

    CAPTURES = 0  # it captures, or derives from a class that does
    LEADS = 1  # it mentions a function or method that captures or replays
    NAMES = 2  # it merely mentions the class or module of such a one


class Ways:
    """The names by which captures are come to, learned from one definition after another."""

    def __init__(self, own: Iterable[Root]) -> None:
        self._names: set[str] = set()
        self._heirs: set[str] = set()
        known, roots = -1, list(own)
        while known != len(self._names) + len(self._heirs):
            known = len(self._names) + len(self._heirs)
            for root in roots:
                self.of(root)

    def of_own(self, root: Root) -> Way:
        """How near a root of a marked file is: whatever it is, it leads to what is captured there."""
        is_body = isinstance(root.node, ast.Module)
        return Way.CAPTURES if is_body else min(self.of(root), Way.LEADS)

    def of(self, root: Root) -> Way:
        """How near a root is; what mentions it is as near as its own text makes it."""
        if isinstance(root.node, ast.Module):
            return Way.LEADS
        if _captures(root.node) or self._derives(root.node):
            self._heirs.add(root.qualname)
            way = Way.CAPTURES
        else:
            text = text_of(root.node)
            way = Way.LEADS if text.replays or text.names & self._names else Way.NAMES
        self._names |= self._names_into(root.qualname, root.node)
        return way

    def _derives(self, node: Def | ast.ClassDef) -> bool:
        bases = node.bases if isinstance(node, ast.ClassDef) else []
        plain = (base.value if isinstance(base, ast.Subscript) else base for base in bases)
        return any(last_name(base) in self._heirs for base in plain)

    def _names_into(self, name: str, node: Def | ast.ClassDef) -> set[str]:
        """The names whose mention leads through a definition: its own, or those of some of its methods."""
        if not isinstance(node, ast.ClassDef):
            return {name} if self._leads(node) else set()
        methods = {part.name: part for part in node.body if isinstance(part, Def)}
        leading = {each for each, method in methods.items() if self._leads(method)}
        growing = True
        while growing:
            more = {each for each, method in methods.items() if text_of(method).names & leading} - leading
            growing = bool(more)
            leading |= more
        unnamed = {each for each in leading if each.startswith("__")}
        return leading - unnamed | ({name} if unnamed or leading & _CALLED_BY_OTHER_NAMES else set())

    def _leads(self, node: Def) -> bool:
        text = text_of(node)
        return text.holds or bool(text.names & self._names)


def _captures(node: Def | ast.ClassDef) -> bool:
    text = text_of(node)
    inner = node.body if isinstance(node, ast.ClassDef) else ()
    return text.captures or text.compiles or any(map(is_declared, inner))
