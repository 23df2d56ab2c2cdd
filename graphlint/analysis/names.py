"""Names: locals, closures, globals evaluated on demand, imports, builtins."""

from __future__ import annotations

import builtins
import functools
from typing import TYPE_CHECKING

from graphlint.analysis import (
    ambient,
    cells,
    class_members,
    conditions,
    definitions,
    effects,
    expressions,
    functions,
    library,
    long_tables,
    outputs,
    registration,
    statements,
    synthesis,
)
from graphlint.analysis.frames import Frame, Place
from graphlint.analysis.parts import change_of
from graphlint.analysis.values import (
    INERT,
    Change,
    Const,
    Env,
    External,
    Module,
    Unknown,
    Value,
    is_none,
    join_all,
)
from graphlint.facts import nodes as ast
from graphlint.rules import operations

if TYPE_CHECKING:
    from graphlint.analysis.machine import Machine
    from graphlint.facts.modules import Binding, ModuleFile

BUILTINS = {name: External(f"builtins.{name}") for name in dir(builtins)}


def lookup(m: Machine, name: str, frame: Frame, node: ast.AST) -> Value:
    """The value of a name as the running function sees it."""
    env: Env | None = frame.env
    while env is not None:
        if name in env.fields:
            value: Value | None = env.fields[name]
            assert value is not None
            if not m.has_graphs or type(value) in INERT:
                return value
            if m.captures:
                place = frame.place(node)
                cells.note_read(m, env.fields, name, value, place, None, name)
                if env is not frame.env or _is_local_of_region(m, value):
                    value = cells.tainted(m, env.fields, name, value, place, env, name)
            elif (id(env.fields), name) in m.effects:
                effects.read(m, env.fields, name, value, frame.place(node), name)
            return outputs.refreshed(m, value, frame.place(node)) if outputs.may_be_of(value) else value
        if env.cls is not None:
            member = class_members.class_name(m, env.cls, name)
            if member is not None:
                return member
        env = env.parent
    value = module_attribute(m, frame.module, name)
    if value is None:
        return _elsewhere(frame.module, name)
    if not m.has_graphs or type(value) in INERT:
        return value
    return _read_global(m, frame.module, name, value, frame.place(node))


def _is_local_of_region(m: Machine, value: Value) -> bool:
    """Whether a local of the capturing function is a number that the function itself may change later.

    What its caller brings anew with each call is judged by that alone.
    """
    return len(m.frames) == m.captures[-1].depth + 1 and change_of(value) is not Change.CHANGING


def _read_global(m: Machine, module: ModuleFile, name: str, value: Value, place: Place) -> Value:
    """What reading a global that holds `value` gives."""
    if m.captures:
        env = m.env_of(module)
        cells.note_read(m, env.fields, name, value, place, None, name)
        value = cells.tainted(m, env.fields, name, value, place, None, name)
    elif m.effects:
        effects.read(m, m.env_of(module).fields, name, value, place, name)
    return outputs.refreshed(m, value, place)


def _elsewhere(module: ModuleFile, name: str) -> Value:
    """What a name means that its module does not bind: a builtin, or unknown."""
    if name in ("__name__", "__package__"):
        return _own_name(module, name)
    if name in BUILTINS:
        return BUILTINS[name]
    return Unknown(f"name `{name}` is not defined in the project")


def _own_name(module: ModuleFile, name: str) -> Value:
    """What a module is called; of one that may be run as a script the name is not known."""
    if name == "__package__" and module.package:
        return Const(module.package)
    return Unknown("module name")


def module_attribute(m: Machine, module: ModuleFile, name: str) -> Value | None:
    """The value of a module's global, evaluated once and on demand; None when it has no such name."""
    key = (id(module), name)
    env = m.module_envs.get(key[0]) or m.env_of(module)
    if name in env.fields:
        return env.fields[name]  # type: ignore[no-any-return]
    if key in m.absent:
        return None
    if key in m.evaluating:
        return Unknown("circular definition")
    m.evaluating.add(key)
    try:
        with m.before_everything():
            value = _evaluate_global(m, module, name, env)
            if value is not None and is_none(value):
                value = ambient.value_of(m, module, name)
            if value is not None:
                env.fields[name] = value
                if registration.is_filled_later(value):
                    registration.fill(m, module, name)
                    value = env.fields[name]
        return value
    finally:
        m.evaluating.discard(key)


def _evaluate_global(m: Machine, module: ModuleFile, name: str, env: Env) -> Value | None:
    bindings = module.bindings.get(name)
    if not bindings:
        source = _star_source(m, module, name, set())
        given = _from_star(m, source, name) if source is not None else None
        found = given or _submodule(m, module, name)
        if source is None and found is None:
            m.absent.add((id(module), name))
        return found
    frame = Frame(module, env, "<module>")
    live = _live_bindings(m, frame, bindings)
    if not live:
        return None  # bound for the type checker only: a module's own `__getattr__` may compute it
    m.frames.append(frame)
    try:
        values = [_bound_value(m, frame, binding) for binding in live]
    finally:
        m.frames.pop()
    return join_all(values)


def _live_bindings(m: Machine, frame: Frame, bindings: list[Binding]) -> list[Binding]:
    """The bindings that can be in force at the end of the module: the last sure one and later ones."""
    kept: list[Binding] = []
    for binding in bindings:
        if binding.kind in ("augassign", "del", "declare"):
            continue
        verdict = _verdict(m, frame, binding)
        if verdict is False:
            continue
        if verdict and not binding.handler:
            kept = []
        kept.append(binding)
    if not kept:  # bound for the type checker only: nothing but an annotation can mean it
        kept = [binding for binding in bindings if binding.kind in ("import", "from", "class")]
    handlers = [b for b in kept if b.handler]
    others = [b for b in kept if not b.handler]
    if handlers and others and all(b.kind in ("import", "from") for b in others):
        resolved = [b for b in others if _imports_project(m, frame.module, b)]
        return resolved or [*others, *handlers]
    return (others or handlers)[-4:]


def _verdict(m: Machine, frame: Frame, binding: Binding) -> bool | None:
    """Whether the tests around a binding let it run; None when one of them is not decided."""
    verdict: bool | None = True
    for test, outcome in binding.guards:
        m.frames.append(frame)
        try:
            answer = conditions.truth(expressions.evaluate(m, test, frame))
        finally:
            m.frames.pop()
        if answer is None:
            verdict = None
        elif answer is not outcome:
            return False
    return verdict


def _imports_project(m: Machine, module: ModuleFile, binding: Binding) -> bool:
    node = binding.node
    return isinstance(node, (ast.Import, ast.ImportFrom)) and _is_of_project(m, module, node)


def cannot_fail(m: Machine, module: ModuleFile, body: list[ast.stmt], handler: ast.ExceptHandler) -> bool:
    """Whether a handler of ImportError guards only imports of the project, so that it never runs."""
    caught = ast.dump(handler.type) if handler.type is not None else "Exception"
    if not any(name in caught for name in ("ImportError", "ModuleNotFoundError")):
        return False
    imports = [s for s in body if isinstance(s, (ast.Import, ast.ImportFrom))]
    return bool(imports) and all(_is_of_project(m, module, node) for node in imports)


def _is_of_project(m: Machine, module: ModuleFile, node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return m.project.module(m.project.resolve_import(module, node), module) is not None
    return all(m.project.module(alias.name, module) is not None for alias in node.names)


def _bound_value(m: Machine, frame: Frame, binding: Binding) -> Value:
    node = binding.node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return definitions.define_function(m, node, frame)
    if isinstance(node, ast.ClassDef):
        return definitions.define_class(m, node, frame)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return imported(m, frame.module, node, binding.name)
    table = long_tables.known_of(m, node, frame)
    if table is not None:
        return table
    scratch = Frame(frame.module, Env(frame.module, None), "<module>")
    m.frames.append(scratch)
    try:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.For, ast.With)):
            statements.bind_only(m, node, scratch)
    finally:
        m.frames.pop()
    return scratch.env.fields.get(binding.name, Unknown("global"))  # type: ignore[no-any-return]


def _from_star(m: Machine, source: ModuleFile | str, name: str) -> Value | None:
    if isinstance(source, str):
        return External(canonical(f"{source}.{name}"))
    return module_attribute(m, source, name)


def _star_source(m: Machine, module: ModuleFile, name: str, seen: set[int]) -> ModuleFile | str | None:
    """The module that gives `name` through star imports, those of the imported modules included."""
    seen.add(id(module))
    for node in module.star_imports:
        target = m.project.resolve_import(module, node)
        if not m.project.may_give(target, module, name):
            continue
        other = m.project.module(target, module)
        if other is None:
            if target.split(".")[0] in ("torch", "triton") and name not in BUILTINS:
                return target
            continue
        if name in other.exports:
            return other
        if id(other) not in seen and "__all__" not in other.bindings and not name.startswith("_"):
            found = _star_source(m, other, name, seen)
            if found is not None:
                return found
    return None


def _submodule(m: Machine, module: ModuleFile, name: str) -> Value | None:
    if not module.is_package:
        return None
    found = m.project.submodule(module.name, name)
    return Module(found) if found is not None else None


def imported(m: Machine, module: ModuleFile, node: ast.Import | ast.ImportFrom, name: str) -> Value:
    """The value that an import statement binds to `name`."""
    if isinstance(node, ast.Import):
        return _imported_module(m, module, node, name)
    origin = m.project.resolve_import(module, node)
    for alias in node.names:
        if (alias.asname or alias.name) == name:
            return from_module(m, module, origin, alias.name)
    return Unknown("import")


def _imported_module(m: Machine, module: ModuleFile, node: ast.Import, name: str) -> Value:
    for alias in node.names:
        if alias.asname == name:
            return module_value(m, module, alias.name)
        if alias.asname is None and alias.name.split(".")[0] == name:
            return module_value(m, module, name)
    return Unknown("import")


def module_value(m: Machine, importer: ModuleFile | None, dotted: str) -> Value:
    if is_described(dotted):
        return External(canonical(dotted))
    found = m.project.module(dotted, importer)
    return Module(found) if found is not None else External(canonical(dotted))


def from_module(m: Machine, importer: ModuleFile, origin: str, name: str) -> Value:
    """`from origin import name`."""
    outside = _external(m, canonical(f"{origin}.{name}"))
    if is_described(f"{origin}.{name}"):
        return outside
    found, submodule = m.project.module(origin, importer), m.project.submodule(origin, name)
    if found is None:  # a folder without an `__init__.py` is a package of its modules
        return Module(submodule) if submodule is not None else outside
    if submodule is not None and (id(found), name) in m.evaluating:
        return Module(submodule)  # `from . import name` in the package itself
    value = module_attribute(m, found, name)
    if value is not None:
        return value
    if submodule is not None:
        return Module(submodule)
    return computed_attribute(m, found, name) or Unknown(f"`{name}` not found in {origin}")


def is_described(dotted: str) -> bool:
    """Whether a name is public in a library that is described here, be its own sources checked or not."""
    package, *parts = dotted.split(".")
    return package == "torch" and not any(part.startswith("_") for part in parts)


def computed_attribute(m: Machine, module: ModuleFile, name: str) -> Value | None:
    """What a module's own `__getattr__` gives for a name that it does not bind; None without one.

    It is asked once: like all globals, the name has been there before anything is captured.
    """
    if "__getattr__" not in module.bindings or name.startswith("__"):
        return None
    stated = synthesis.stated_object(m, module, name)
    if stated is not None:
        return stated
    getter = module_attribute(m, module, "__getattr__")
    key = (id(module), name)
    if getter is None or key in m.evaluating:
        return None
    known: Value | None = m.memo.get(("computed", key))
    if known is not None:
        return known
    m.evaluating.add(key)
    frame = Frame(module, m.env_of(module), "<module>")
    m.frames.append(frame)
    try:
        with m.before_everything():
            value = functions.call_value(m, getter, module.tree.body[0], frame, Const(name))
        m.memo["computed", key] = value
        return value
    finally:
        m.frames.pop()
        m.evaluating.discard(key)


def _external(m: Machine, dotted: str) -> Value:
    known = library.constant(dotted)
    return known if known is not None else External(dotted)


@functools.cache
def canonical(dotted: str) -> str:
    """The public name of something in a library."""
    for private, public in operations.mapped("public_name").items():
        if dotted == private or dotted.startswith(private + "."):
            return str(public) + dotted[len(private) :]
    if dotted.startswith("torch._C.") or dotted == "torch._C":
        return dotted.replace("torch._C._cuda_", "torch.cuda.", 1)
    return dotted
