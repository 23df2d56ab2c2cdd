"""Where the analysis begins: definitions that capture or replay, and those that call or construct them.

A *root* is a function that captures or replays, one that calls or constructs such a one, here or in a
file that imports it, a class with such methods, or the body of a module.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.analysis.classes import Def, last_name
from graphlint.facts.pernode import per_node, summary
from graphlint.facts.walking import walk
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.facts.modules import ModuleFile
    from graphlint.facts.project import Project

_Uses = Callable[[ast.AST], Set[str]]
"""What a definition uses: all names that its text mentions, or those that it calls."""
FILES_PER_NAME = 8
DEEPEST_CALLER = 4


@dataclass(slots=True)
class Text:
    """What a function's own text does with graphs, and the names that it mentions.

    `targets` are the names that it starts threads with (`target=self.work`): it does not run them itself.
    """

    captures: bool = False
    replays: bool = False
    compiles: bool = False
    names: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)

    @property
    def holds(self) -> bool:
        return self.captures or self.replays or self.compiles


@summary
def text_of(node: ast.AST) -> Text:
    """Read a function's own text, nested functions included, once."""
    text = Text()
    own: set[str] = set()
    attributes: set[str] = set()
    for part in walk(node):
        kind = type(part)
        if kind is ast.Name:
            text.names.add(part.id)  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            attributes.add(part.attr)  # type: ignore[attr-defined]
            if part.attr in _CONTEXTS and not text.captures:  # type: ignore[attr-defined]
                text.captures = _is_graph_context(part)
        elif kind is ast.arg:
            own.add(part.arg)  # type: ignore[attr-defined]
        elif kind in _SAYING:
            _read(part, text)
    replaying = operations.listed("replaying")
    text.replays = not replaying.isdisjoint(attributes | (text.names - own))
    text.names |= attributes
    capturing = operations.listed("capturing") - {"graph"}
    text.captures = text.captures or is_declared(node) or not capturing.isdisjoint(text.names)
    return text


_SAYING = frozenset({ast.Constant, ast.Call, ast.ImportFrom})
_CONTEXTS = frozenset({"graph", "Graph"})


def names_reached(methods: Mapping[str, ast.AST], name: str) -> Iterator[str]:
    """The functions of one scope that a function mentions, transitively, itself included."""
    yield from reached_from(name, methods.keys(), lambda current: text_of(methods[current]).names)


def reached_from(name: str, known: Set[str], mentioned: Callable[[str], set[str]]) -> Iterator[str]:
    """`name` and what is reached from it within `known`, by the names that each mentions."""
    seen: set[str] = set()
    stack = [name]
    while stack:
        current = stack.pop()
        if current in seen or current not in known:
            continue
        seen.add(current)
        yield current
        stack.extend(sorted(mentioned(current) & known))


def _read(part: ast.AST, text: Text) -> None:
    if isinstance(part, ast.Constant):
        text.compiles = text.compiles or (isinstance(part.value, str) and _turns_graphs_on(part.value))
    elif isinstance(part, ast.Call):
        text.captures = text.captures or _calls_graph(part)
        named = (word.value for word in part.keywords if word.arg == "target")
        text.targets |= {value.attr for value in named if isinstance(value, ast.Attribute)}
    elif isinstance(part, ast.ImportFrom) and (part.module or "").startswith("torch.cuda"):
        text.captures = text.captures or any(
            alias.name in operations.listed("capturing") for alias in part.names
        )


def _turns_graphs_on(text: str) -> bool:
    """Whether a text is an option of the compiler under which it makes graphs."""
    return text in operations.listed("compiled_modes") or text in operations.listed("compiled_words")


def _is_graph_context(part: ast.AST) -> bool:
    """`torch.cuda.graph` taken as a value; a mere field `graph` is none. Or `torch.accelerator.Graph`."""
    if not isinstance(part, ast.Attribute) or not isinstance(part.ctx, ast.Load):
        return False
    owner = part.value
    if part.attr != "graph":
        return part.attr == "Graph" and last_name(owner) == "accelerator"
    if isinstance(owner, ast.Call):  # what gives a module is called without arguments, or known
        return not owner.args or last_name(owner.func) in operations.listed("module_getters")
    return last_name(owner).lstrip("_") in operations.listed("device_modules")


def _calls_graph(call: ast.Call) -> bool:
    """`anything.graph(...)`, or `getattr(module, "graph")`; `self.graph(...)` calls a field of that name."""
    if isinstance(call.func, ast.Attribute):
        owner = call.func.value
        is_other = isinstance(owner, ast.Name) and owner.id in operations.listed("owners_of_other_graphs")
        return call.func.attr == "graph" and bool(call.args or call.keywords) and not is_other
    return isinstance(call.func, ast.Name) and call.func.id == "getattr" and _takes_graph(call.args)


def _takes_graph(given: Sequence[ast.expr]) -> bool:
    """`getattr(anything, "graph")`; with a default, as of a field that may be missing, of a device module."""
    if len(given) > 2 and last_name(given[0]) not in operations.listed("device_modules"):
        return False
    return any(
        isinstance(each, ast.Constant) and each.value in operations.listed("capturing") for each in given
    )


def is_declared(node: ast.AST) -> bool:
    """Whether a comment, the configuration or a profile declares a function to be captured."""
    return bool(getattr(node, "_declared", False))


def is_declared_by_profile(node: ast.AST) -> bool:
    """Whether it is a profile that says so: its framework warms up before it captures."""
    return isinstance(getattr(node, "_declared", False), str)


def is_declared_compiled(node: ast.AST) -> bool:
    """Whether a profile says that a captured function is compiled before."""
    return getattr(node, "_declared", False) == "compiled"


@dataclass(frozen=True, slots=True)
class Root:
    """Something to run: a function of a module, a class to live through, or a module's own body.

    `goals` names the definitions that lead to its captures.
    """

    module: ModuleFile
    qualname: str
    node: Def | ast.ClassDef | ast.Module
    goals: frozenset[str] = field(default=frozenset(), compare=False)


def callers_of(project: Project, module: ModuleFile, own: Sequence[Root], most: int) -> Iterator[Root]:
    """At most `most` roots in other files that import and use one of `own`, in a fixed order."""
    callers = _Callers(project, module, own, most)
    found = list(callers.find())
    led = {root.qualname for root in found if "<" not in root.qualname}
    goals = frozenset({root.qualname for root in own} | callers.openers | led)
    for root in found:
        yield replace(root, goals=goals)


def roots_of(module: ModuleFile) -> list[Root]:
    """The roots among the definitions of a marked module."""
    found: list[Root] = []
    if _body_holds(module):
        found.append(Root(module, "<module>", module.tree))
    top = _top(module)
    by_text = _by_text(top)
    declared = {name.split(".")[0] for name, node in module.functions() if is_declared(node)}
    involved = by_text | _spread(top, declared, _calling)
    found += [Root(module, name, node) for name, node in top if name in involved]
    return [replace(root, goals=frozenset(involved)) for root in found]


def is_constructed(root: Root) -> bool:
    """Whether another definition of the module makes instances of a class, and does things before them."""
    if not isinstance(root.node, ast.ClassDef):
        return False
    others = (node for name, node in _top(root.module) if name != root.qualname)
    return any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == root.qualname
        for node in others
        for part in walk(node)
    )


def _by_text(top: Sequence[tuple[str, ast.AST]]) -> set[str]:
    """The definitions that capture or replay by their text, and those that use one of them."""
    return _spread(top, {name for name, node in top if text_of(node).holds and not is_declared(node)})


def named(module: ModuleFile, qualname: str, goals: Iterable[str]) -> Root:
    """The root of that name."""
    node = module.tree if qualname == "<module>" else module.definitions(qualname)[0]
    return Root(module, qualname, node, frozenset(goals))


def _top(module: ModuleFile) -> list[tuple[str, Def | ast.ClassDef]]:
    return [(name, node) for name, node in module.functions() if "." not in name]


def spread_aliases(module: ModuleFile) -> None:
    """A name of the module that stands for a capture context captures where it is used.

    Done before anybody else asks what the functions of the module do.
    """
    aliases = set()
    for name, bindings in module.bindings.items():
        for binding in bindings:
            if binding.alias is not None and binding.alias.name in operations.listed("capturing"):
                aliases.add(name)
            elif binding.kind == "assign" and isinstance(binding.node, ast.Assign):
                aliases |= {name} if text_of(binding.node.value).captures else set()
    aliases |= _capturing_functions(module)
    switched = switches_cudagraphs(module)
    for _, node in module.functions():
        text = text_of(node)
        text.captures = text.captures or not aliases.isdisjoint(text.names)
        text.compiles = text.compiles or (switched and "compile" in text.names)
    module.notes.add(f"captures: {sorted(aliases)}, compiles: {switched}")


def _capturing_functions(module: ModuleFile) -> set[str]:
    """The context managers of a module that capture: whoever enters one does."""
    return {
        name
        for name, node in _top(module)
        if not isinstance(node, ast.ClassDef)
        if any(last_name(item).endswith("contextmanager") for item in node.decorator_list)
        if text_of(node).captures
    }


def switches_cudagraphs(module: ModuleFile) -> bool:
    """Whether the body of a module turns the CUDA graphs of the compiler on for all of its code."""
    return switches_on(module, "triton.cudagraphs")


def switches_on(module: ModuleFile, setting: str) -> bool:
    """Whether the body of a module turns a setting of a library on."""
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            if any(ast.unparse(target).endswith(setting) for target in statement.targets):
                return bool(statement.value.value)
    return False


def _body_holds(module: ModuleFile) -> bool:
    definitions = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)
    plain = [text_of(s) for s in module.tree.body if not isinstance(s, definitions)]
    return any(text.captures or text.replays for text in plain)


def is_run_by_script(root: Root) -> bool:
    """Whether the body of the file calls this function, as scripts do, and nothing else there names it."""
    calls = [
        statement
        for statement in root.module.tree.body
        for each in (statement.body if isinstance(statement, ast.If) else [statement])
        if isinstance(each, (ast.Expr, ast.Assign)) and isinstance(each.value, ast.Call)
        if isinstance(each.value.func, ast.Name) and each.value.func.id == root.qualname
    ]
    naming = [s for s in root.module.tree.body if root.qualname in text_of(s).names]
    return len(calls) == 1 and len(naming) == 1


def _names_of(node: ast.AST) -> Set[str]:
    return text_of(node).names


@summary
def _calling(tree: ast.AST) -> frozenset[str]:
    """The names that a definition calls, gives to calls or derives from.

    What is declared to be captured is run as it is: whoever merely names it adds nothing to that.
    """
    named = list(tree.bases) if isinstance(tree, ast.ClassDef) else []
    for call in (part for part in walk(tree) if isinstance(part, ast.Call)):
        given = [*call.args, *(word.value for word in call.keywords)]
        named += [call.func, *(value for value in given if not last_name(value)[:1].isupper())]
    parts = [part for value in named for part in walk(value)]
    return frozenset(str(getattr(part, "id", "") or getattr(part, "attr", "")) for part in parts)


def _spread(top: Sequence[tuple[str, ast.AST]], start: set[str], used_by: _Uses = _names_of) -> set[str]:
    """The names of definitions in `start`, and of those that use one of them."""
    involved = set(start)
    growing = True
    while growing:
        more = {name for name, node in top if name not in involved and used_by(node) & involved}
        growing = bool(more)
        involved |= more
    return involved


class _Callers:
    """Finds definitions in other files that import an involved one and use it: arguments come from there."""

    def __init__(self, project: Project, module: ModuleFile, own: Sequence[Root], most: int) -> None:
        self.project = project
        self.module = module
        self.openers = {name for root in own for name in _openers(root.node)}
        involved = {root.qualname for root in own}
        self.involved = {id(module): involved}
        by_text = _by_text(_top(module))
        self.pending: deque[tuple[ModuleFile, str, int, _Uses]] = deque(
            (module, name, 1, _names_of if name in by_text or name == "<module>" else _calling)
            for name in sorted(involved)
        )
        self.left = most

    def find(self) -> Iterator[Root]:
        yield from self._of_openers()
        while self.pending and self.left > 0:
            module, name, depth, used_by = self.pending.popleft()
            if name.startswith(("<", "__", "test_")) or name == "main":
                continue
            for path in self._files(module, name):
                yield from self._in_file(path, module, name, depth, used_by)

    def _of_openers(self) -> Iterator[Root]:
        """The definitions that call a method which returns a capture context, on whatever object."""
        for name in sorted(self.openers):
            for path in self.project.calling_paths(name)[:FILES_PER_NAME]:
                file = self.project.file(path)
                for caller, node in _top(file) if file is not None else ():
                    if self.left > 0 and name in _called_methods(node):
                        self.left -= 1
                        assert file is not None
                        self.involved.setdefault(id(file), set()).add(caller)
                        yield Root(file, caller, node)

    def _files(self, module: ModuleFile, name: str) -> list[Path]:
        """The files that mention a name, first those that call it."""
        found = dict.fromkeys([*self.project.calling_paths(name), *self.project.mention_paths(name)])
        return [path for path in found if path != module.path][:FILES_PER_NAME]

    def _in_file(
        self, path: Path, module: ModuleFile, name: str, depth: int, used_by: _Uses
    ) -> Iterator[Root]:
        file = self.project.file(path)
        local = local_names(self.project, file, module, name) if file is not None else set()
        if file is None or not local:
            return
        top = _top(file)
        known = self.involved.setdefault(id(file), set())
        direct = {caller for caller, node in top if used_by(node) & local}
        callers = _spread(top, direct, used_by) - known
        known |= callers
        if "<module>" not in known and _body_uses(file, local | callers):
            known.add("<module>")
            self.left -= 1
            yield Root(file, "<module>", file.tree)
        for caller, node in top:
            if caller in callers and self.left > 0:
                self.left -= 1
                yield Root(file, caller, node)
                if depth < DEEPEST_CALLER:
                    self.pending.append((file, caller, depth + 1, used_by))


@summary
def _openers(tree: ast.AST) -> frozenset[str]:
    """The methods of a class that return a capture context for others to enter."""
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return frozenset(
        method.name
        for method in body
        if isinstance(method, ast.FunctionDef)
        for part in ast.walk(method)
        if isinstance(part, ast.Return) and isinstance(part.value, ast.Call)
        if part.value.args
        and text_of(part.value).captures
        and method.name not in operations.listed("capturing")
    )


@summary
def _called_methods(tree: ast.AST) -> frozenset[str]:
    """The names that a definition calls as methods."""
    calls = (part.func for part in ast.walk(tree) if isinstance(part, ast.Call))
    return frozenset(function.attr for function in calls if isinstance(function, ast.Attribute))


def _body_uses(module: ModuleFile, names: set[str]) -> bool:
    """Whether the statements of a script, its main guard included, use one of the names."""
    definitions = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)
    return any(
        text_of(s).names & names
        for s in module.tree.body
        if not isinstance(s, (*definitions, ast.Assign, ast.AnnAssign))
    )


@per_node
def imports_in(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """The import statements of a file, those inside functions included."""
    return [node for node in walk(tree, "import") if isinstance(node, (ast.Import, ast.ImportFrom))]


def local_names(project: Project, file: ModuleFile, module: ModuleFile, name: str) -> set[str]:
    """What `file` calls the definition `name` of `module`: the names after an import, or its attribute."""
    found: set[str] = set()
    for node in imports_in(file.tree):
        if isinstance(node, ast.ImportFrom):
            found |= _from_import(project, file, node, module, name)
        elif any(project.module(alias.name, file) is module for alias in node.names):
            found.add(name)
    return found


def _from_import(
    project: Project, file: ModuleFile, node: ast.ImportFrom, module: ModuleFile, name: str
) -> set[str]:
    origin = project.resolve_import(file, node)
    found: set[str] = set()
    for alias in node.names:
        if alias.name == name and _leads_to(project, origin, file, module, name):
            found.add(alias.asname or name)
        elif project.submodule(origin, alias.name, file) is module:
            found.add(name)
    return found


def _leads_to(project: Project, origin: str, file: ModuleFile, module: ModuleFile, name: str) -> bool:
    """Whether importing `name` from `origin` gives the definition in `module`, perhaps re-exported."""
    target = project.module(origin, file)
    if target is None or target is module:
        return target is module
    return (
        all(binding.kind == "from" for binding in target.bindings.get(name, ())) and name in target.bindings
    )
