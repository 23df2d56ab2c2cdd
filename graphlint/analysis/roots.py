"""Where the analysis begins: definitions that capture or replay, and those that call or construct them.

A *root* is a function that captures or replays, one that calls or constructs such a one, here or in a
file that imports it, a class with such methods, or the body of a module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from graphlint.analysis.classes import Def, last_name
from graphlint.analysis.consumers import consumers_of
from graphlint.analysis.own_text import is_declared, text_of
from graphlint.facts import nodes as ast
from graphlint.facts.pernode import summary
from graphlint.facts.walking import walk
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.facts.modules import ModuleFile

Uses = Callable[[ast.AST], Set[str]]
"""What a definition uses: all names that its text mentions, or those that it calls."""

DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)
"""Statements of a module that do nothing by themselves, as far as the analysis goes."""


@dataclass(frozen=True, slots=True)
class Root:
    """Something to run: a function of a module, a class to live through, or a module's own body.

    `goals` names the definitions that lead to its captures.
    """

    module: ModuleFile
    qualname: str
    node: Def | ast.ClassDef | ast.Module
    goals: frozenset[str] = field(default=frozenset(), compare=False)


def roots_of(module: ModuleFile) -> list[Root]:
    """The roots among the definitions of a marked module."""
    top = top_of(module)
    capturing = by_text(top)
    declared = {name.split(".")[0] for name, node in module.functions() if is_declared(node)}
    capturing |= spread(top, consumers_of(top) - capturing, calling)
    involved = capturing | spread(top, declared, calling)
    made = _made_by(module, involved)
    involved |= {name for name, node in top if made & text_of(node).names} if made else set()
    found = [Root(module, name, node) for name, node in top if name in involved]
    if _body_holds(module) or body_makes(module, involved):
        found.insert(0, Root(module, "<module>", module.tree))
    return [replace(root, goals=frozenset(involved)) for root in found]


def is_constructed(root: Root) -> bool:
    """Whether another definition of the module makes instances of a class, and does things before them."""
    if not isinstance(root.node, ast.ClassDef):
        return False
    others = (node for name, node in top_of(root.module) if name != root.qualname)
    return any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == root.qualname
        for node in others
        for part in walk(node)
    )


def by_text(top: Sequence[tuple[str, ast.AST]]) -> set[str]:
    """The definitions that capture or replay by their text, and those that use one of them."""
    return spread(top, {name for name, node in top if text_of(node).holds and not is_declared(node)})


def named(module: ModuleFile, qualname: str, goals: Iterable[str]) -> Root:
    """The root of that name."""
    node = module.tree if qualname == "<module>" else module.definitions(qualname)[0]
    return Root(module, qualname, node, frozenset(goals))


def top_of(module: ModuleFile) -> list[tuple[str, Def | ast.ClassDef]]:
    """The definitions at the top level of a module."""
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
    aliases |= _capturing_contexts(module)
    switched = switches_cudagraphs(module)
    for _, node in module.functions():
        text = text_of(node)
        text.captures = text.captures or not aliases.isdisjoint(text.names)
        text.compiles = text.compiles or (switched and "compile" in text.names)
    module.notes.add(f"captures: {sorted(aliases)}, compiles: {switched}")


def _capturing_contexts(module: ModuleFile) -> set[str]:
    """The context managers of a module that capture: whoever enters one does."""
    return {name for name, node in top_of(module) if text_of(node).captures and _is_context(node)}


def _is_context(node: Def | ast.ClassDef) -> bool:
    """Whether a definition is a context manager by which others capture: what it enters is a capture."""
    if not isinstance(node, ast.ClassDef):
        return any(last_name(item).endswith("contextmanager") for item in node.decorator_list)
    methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    entering = [methods[name] for name in ("__init__", "__enter__") if name in methods]
    return {"__enter__", "__exit__"} <= methods.keys() and any(text_of(each).captures for each in entering)


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
    plain = [text_of(s) for s in module.tree.body if not isinstance(s, DEFINITIONS)]
    return any(text.captures or text.replays for text in plain)


def _made_by(module: ModuleFile, involved: Set[str]) -> set[str]:
    """The names that the body of a module binds to instances of classes among `involved`."""
    return {
        target.id
        for statement in module.tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
        for target in statement.targets
        if isinstance(target, ast.Name) and last_name(statement.value.func) in involved
    }


def body_makes(module: ModuleFile, involved: Set[str]) -> bool:
    """Whether the statements of a script, its main guard included, go on with what one of `involved` makes.

    That is an instance of a class, what a call gives, or what it makes of a function of the script or of the
    numbers of a loop. A call of a function alone, as in `main()`, does what that function does as a root.
    """
    definitions = dict(top_of(module))
    plain = [s for s in module.tree.body if not isinstance(s, DEFINITIONS) and text_of(s).names & involved]
    calls = ((part, statement) for statement in plain for part in walk(statement) if type(part) is ast.Call)
    return any(
        last_name(call.func) in involved
        and (
            last_name(call.func)[:1].isupper()
            or not _is_statement(call, statement)
            or (call.args and _is_in_loop(call, statement))
            or any(type(given) is ast.Lambda or last_name(given) in definitions for given in call.args)
        )
        for call, statement in calls
    )


def _is_statement(call: ast.Call, within: ast.stmt) -> bool:
    """Whether nobody looks at what a call gives."""
    return any(type(part) is ast.Expr and part.value is call for part in walk(within))


def _is_in_loop(call: ast.Call, within: ast.stmt) -> bool:
    loops = (part for part in walk(within) if isinstance(part, ast.For))
    return any(part is call for loop in loops for part in walk(loop))


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


def names_of(node: ast.AST) -> Set[str]:
    return text_of(node).names


@summary
def calling(tree: ast.AST) -> frozenset[str]:
    """The names that a definition calls, gives to calls or derives from.

    What is declared to be captured is run as it is: whoever merely names it adds nothing to that.
    """
    named = list(tree.bases) if isinstance(tree, ast.ClassDef) else []
    for call in (part for part in walk(tree) if isinstance(part, ast.Call)):
        given = [*call.args, *(word.value for word in call.keywords)]
        named += [call.func, *(value for value in given if not last_name(value)[:1].isupper())]
    parts = [part for value in named for part in walk(value)]
    return frozenset(str(getattr(part, "id", "") or getattr(part, "attr", "")) for part in parts)


def spread(top: Sequence[tuple[str, ast.AST]], start: set[str], used_by: Uses = names_of) -> set[str]:
    """The names of definitions in `start`, and of those that use one of them."""
    involved = set(start)
    growing = True
    while growing:
        more = {name for name, node in top if name not in involved and used_by(node) & involved}
        growing = bool(more)
        involved |= more
    return involved
