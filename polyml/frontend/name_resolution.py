"""Name resolution: what each name may be read for, and a name of its own for each local array."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from polyml.errors import LanguageError, NotAffineError
from polyml.frontend import reaching_definitions, syntax, traversal
from polyml.frontend.syntax import Stmt


def resolved(params: Sequence[syntax.Param], body: Sequence[Stmt], own: Set[str] = frozenset()) -> tuple[Stmt, ...]:
    """Returns the statements with each local array renamed to a name of its own: T, T.1, T.2.

    A number that may have no value where it is read is tested there.

    own: the locals of the kernel itself, which live as long as the call does; those of functions that it calls do not
    Raises LanguageError where a read may see no value, the variable of a loop that is over, or a loop variable where an
    array is meant, and NotAffineError where it may see one of several arrays.
    """
    several: set[str] = set()
    unset: set[str] = set()
    while True:
        named = _array_updates(_named_allocations(_with_flags(body, unset), {param.name for param in params}, several))
        resolver = _Resolver(params, named)
        try:
            made = resolver.body(named, resolver.flow.start, resolver.sure.start)
            return (*resolver.required.values(), *made)
        except (NotAffineError, LanguageError):
            found = resolver.unset & own
            if resolver.several <= several and found <= unset:
                raise
            several |= resolver.several
            unset |= found


Loop = syntax.For | syntax.While
_UNSET = syntax.Call("unset", ())  # what a number is before anything is assigned to it


def _flag(name: str) -> syntax.Name:
    """Returns the name of whether a number has a value."""
    return syntax.Name(f"{name}.set")


def _with_flags(body: Sequence[Stmt], names: set[str]) -> tuple[Stmt, ...]:
    """Returns the statements with assignments that keep whether names have a value."""
    if not names:
        return tuple(body)
    begin: list[Stmt] = []
    for name in sorted(names):
        begin += [syntax.Assign(syntax.Name(name), _UNSET), syntax.Assign(_flag(name), syntax.Const(False))]
    return (*begin, *_flagged(body, names, frozenset())[0])


def _flagged(stmts: Sequence[Stmt], names: Set[str], known: frozenset[str]) -> tuple[tuple[Stmt, ...], frozenset[str]]:
    """Returns statements with flags, and the names that surely have a value behind them. known: those that have one before"""
    made: list[Stmt] = []
    for stmt in stmts:
        ends = [_flagged(inner, names, known) for inner in traversal.bodies(stmt)]
        blocks = iter(block for block, _ in ends)
        made.append(traversal.with_bodies(stmt, lambda _: next(blocks)))
        if isinstance(stmt, syntax.If):
            known = ends[0][1] & ends[1][1]
        elif isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) and stmt.target.name in names - known:
            made.append(syntax.Assign(_flag(stmt.target.name), syntax.Const(True)))
            known |= {stmt.target.name}
    return tuple(made), known


def _may_be_unset(definitions: frozenset[reaching_definitions.Definition]) -> bool:
    """Returns whether a read may see a number to which nothing has been assigned, with a flag that says so."""
    return any(_is_unset(d) for d in definitions)


def _is_unset(definition: reaching_definitions.Definition) -> bool:
    stmt = definition.stmt if isinstance(definition, reaching_definitions.Assigned) else None
    return isinstance(stmt, syntax.Assign) and stmt.value is _UNSET


def _named_allocations(body: Sequence[Stmt], parameters: set[str], several: set[str]) -> tuple[Stmt, ...]:
    """Returns the statements with `T.new = zeros(N); T = T.new` for each `T = zeros(N)` where T is also bound by assignments, or is
    one of `several`.

    T then is a name that is bound to arrays, and the allocated array has a name of its own, an unused one such as T.1.
    """
    bound = {
        s.target.name
        for s in statements(body)
        if isinstance(s, syntax.Assign) and isinstance(s.target, syntax.Name) and not s.in_place
    }
    bound |= several
    taken = {s.name for s in statements(body) if isinstance(s, syntax.Alloc)} | bound | parameters

    def named(stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in stmts:
            match stmt:
                case syntax.Alloc(name=name) if name in bound:
                    own = unused(name, taken)
                    out.append(dataclasses.replace(stmt, name=own))
                    array = syntax.Name(own, loc=stmt.loc)
                    out.append(syntax.Assign(syntax.Name(name, loc=stmt.loc), array, loc=stmt.loc))
                case _:
                    out.append(traversal.with_bodies(stmt, named))
        return tuple(out)

    return named(body)


def _array_updates(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """Returns the statements with `T[...] += x` for each `T += x` where T is bound by allocations alone.

    `T += x` changes such an array and binds nothing.
    """
    arrays, others = set(), set()
    for stmt in statements(body):
        match stmt:
            case syntax.Alloc(name=name):
                arrays.add(name)
            case syntax.Assign(target=syntax.Name(name=name), in_place=False) | syntax.For(var=name):
                others.add(name)
    own = arrays - others

    def updated(stmt: Stmt) -> Stmt:
        match stmt:
            case syntax.Assign(target=syntax.Name(name=name) as target, in_place=True) if name in own:
                return dataclasses.replace(stmt, target=syntax.Part(target, (syntax.Dots(),), loc=target.loc))
        return traversal.with_bodies(stmt, lambda inner: tuple(map(updated, inner)))

    return tuple(map(updated, body))


class _Resolver:
    """A _Resolver renames the arrays of one kernel.

    several: the names that may be one of several allocated arrays where they are read
    unset: the numbers that may have no value where they are read
    sure: the definitions that reach a place if every loop runs
    required: conditions that say that a loop runs, since a name would otherwise have no value, each with its Require
    """

    def __init__(self, params: Sequence[syntax.Param], body: Sequence[Stmt]):
        self.flow = reaching_definitions.ReachingDefinitions(params)
        self.sure = reaching_definitions.ReachingDefinitions(params, loops_run=True, twin=self.flow)
        self.several: set[str] = set()
        self.unset: set[str] = set()
        self.required: dict[syntax.Expr, syntax.Require] = {}
        self._loops_around = dict(loops_around(body, ()))
        self._at_entry = {param.name for param in params} - bound_names(body)
        parameters = {param.name for param in params}
        numbers = set()
        for stmt in statements(body):
            if isinstance(stmt, syntax.For):
                _check_loop_variable(stmt, parameters)
            match stmt:
                case syntax.For(var=name) | syntax.Assign(target=syntax.Name(name=name)):
                    numbers.add(name)
        self._taken = taken = parameters | numbers
        self._array_names: dict[reaching_definitions.Assigned, str] = {}
        for stmt in statements(body):
            if isinstance(stmt, syntax.Alloc):
                self._array_names[self.flow.assigned(stmt)] = unused(stmt.name, taken)

    def body(
        self, stmts: Sequence[Stmt], state: reaching_definitions.Reaching, sure: reaching_definitions.Reaching
    ) -> tuple[Stmt, ...]:
        """Returns the statements of a block resolved.

        state, sure: the definitions that reach it; `sure` if every loop runs
        """
        result = []
        for stmt in stmts:
            if isinstance(stmt, syntax.Return):
                result += self._with_values(stmt, state, sure)
                continue
            result.append(self._stmt(stmt, state, sure))
            state, sure = self.flow.after(stmt, state), self.sure.after(stmt, sure)
        return tuple(result)

    def _with_values(
        self, stmt: syntax.Return, state: reaching_definitions.Reaching, sure: reaching_definitions.Reaching
    ) -> list[Stmt]:
        """Returns a Return resolved, behind assignments of the values that may have none."""
        made = self._stmt(stmt, state, sure)
        assert isinstance(made, syntax.Return)
        before: list[Stmt] = []
        values: list[syntax.Expr] = []
        for value in made.values:
            if any(isinstance(node, syntax.Call) and node.function == "bound" for node in traversal.nodes(value)):
                name = syntax.Name(unused("_result", self._taken), loc=value.loc)
                before.append(syntax.Assign(name, value, loc=value.loc))
                value = name
            values.append(value)
        return [*before, dataclasses.replace(made, values=tuple(values))]

    def _stmt(self, stmt: Stmt, state: reaching_definitions.Reaching, sure: reaching_definitions.Reaching) -> Stmt:
        if isinstance(stmt, syntax.Return):
            stmt = dataclasses.replace(stmt, values=tuple(self._returned(value, state) for value in stmt.values))
        around = self._loops_around.get(id(stmt), ())

        def resolved(expr: syntax.Expr) -> syntax.Expr:
            renamed = traversal.rename(expr, lambda node: self._name(node, state, sure, around))
            return self._tested(renamed, state, sure, around)

        if isinstance(stmt, syntax.Alloc):
            array = traversal.map_reads(stmt, resolved)
            return dataclasses.replace(array, name=self._array_names[self.flow.assigned(stmt)])
        if isinstance(stmt, syntax.While):
            state = self.flow.inside(stmt, state)  # its condition is read before each run of the body
            sure = self.sure.inside(stmt, sure)
        inside, surely = self.flow.inside(stmt, state), self.sure.inside(stmt, sure)
        return traversal.with_bodies(traversal.map_reads(stmt, resolved), lambda body: self.body(body, inside, surely))

    def _tested(
        self,
        expr: syntax.Expr,
        state: reaching_definitions.Reaching,
        sure: reaching_definitions.Reaching,
        around: Sequence[Loop],
    ) -> syntax.Expr:
        """Returns an expression in which each number that may have no value is tested where it is read."""
        if isinstance(expr, syntax.Name) and _may_be_unset(reaching_definitions.reaching(state, expr.name)):
            if not self._is_set_by_loops(reaching_definitions.reaching(sure, expr.name), around):
                return syntax.Call("bound", (_flag(expr.name), expr), loc=expr.loc)
        operands = tuple(self._tested(operand, state, sure, around) for operand in traversal.operands(expr))
        return traversal.with_operands(expr, operands) if operands else expr

    def _returned(self, value: syntax.Expr, state: reaching_definitions.Reaching) -> syntax.Expr:
        if isinstance(value, syntax.Name) and _arrays(reaching_definitions.reaching(state, value.name)):
            return syntax.ArrayName(value.name, loc=value.loc)
        return value

    def _name(
        self,
        node: syntax.Expr,
        state: reaching_definitions.Reaching,
        sure: reaching_definitions.Reaching,
        around: Sequence[Loop],
    ) -> str:
        name = traversal.named(node)
        definitions = reaching_definitions.reaching(state, name)
        if reaching_definitions.UNSET in definitions and self._is_set_by_loops(reaching_definitions.reaching(sure, name), around):
            definitions -= {reaching_definitions.UNSET}
        if reaching_definitions.UNSET in definitions and isinstance(node, syntax.Name) and _are_numbers(definitions):
            self.unset.add(name)
        _check_defined(name, node, definitions)
        arrays = _arrays(definitions)
        if not arrays:
            if not isinstance(node, syntax.Name) and any(isinstance(d, reaching_definitions.LoopVariable) for d in definitions):
                raise LanguageError(
                    f"`{name}` is a number, not an array", loc=node.loc, notes=["accepted: a parameter, or a local array"]
                )
            return name
        if len(definitions) > 1:
            self.several.add(name)
            raise NotAffineError(
                f"`{name}` may be one of {len(definitions)} arrays here",
                loc=node.loc,
                notes=["polyml compiles: a name for each array"],
                code="PML-F023",
            )
        return self._array_names[arrays[0]]

    def _is_set_by_loops(self, definitions: frozenset[reaching_definitions.Definition], around: Sequence[Loop]) -> bool:
        """Returns whether a name has a value where some loops run, of which that is known at the kernel's entry, and requires it.

        definitions: those that reach a read of the name if every loop runs
        around: the loops around the read
        """
        required: list[syntax.Require] = []
        for definition in definitions:
            if not isinstance(definition, reaching_definitions.Assigned) or _is_unset(definition):
                return False
            for loop in self._loops_around[id(definition.stmt)]:
                if any(loop is each for each in around) or isinstance(loop, syntax.For) and reaching_definitions.runs(loop):
                    continue
                if isinstance(loop, syntax.While):
                    return False
                if not all(self._is_known(node) for bound in (loop.start, loop.stop) for node in traversal.nodes(bound)):
                    return False
                runs = syntax.Compare("<" if loop.step > 0 else ">", loop.start, loop.stop, loc=loop.loc)
                required.append(syntax.Require(runs, "a loop that does not run and so leaves a name without a value", loc=loop.loc))
        self.required |= {require.condition: require for require in required}
        return True

    def _is_known(self, node: syntax.Expr) -> bool:
        """Returns whether a part of a loop's bound is known at the kernel's entry."""
        if isinstance(node, (syntax.Name, syntax.Shape)):
            return traversal.named(node) in self._at_entry
        return isinstance(node, (syntax.Const, syntax.Binary, syntax.Unary))


def loops_around(body: Sequence[Stmt], around: tuple[Loop, ...]) -> Iterator[tuple[int, tuple[Loop, ...]]]:
    """Yields (the id of a statement, the loops around it, outermost first) for all statements.

    around: the loops around `body`
    """
    for stmt in body:
        yield id(stmt), around
        inside = (*around, stmt) if isinstance(stmt, (syntax.For, syntax.While)) else around
        for inner in traversal.bodies(stmt):
            yield from loops_around(inner, inside)


def _check_loop_variable(loop: syntax.For, parameters: set[str]) -> None:
    if loop.var in parameters:
        raise LanguageError(f"the loop variable `{loop.var}` is also a parameter", loc=loop.loc, notes=["accepted: another name"])


def _check_defined(name: str, node: syntax.Expr, definitions: frozenset[reaching_definitions.Definition]) -> None:
    if any(isinstance(d, reaching_definitions.LoopVariable) and d.over for d in definitions):
        raise LanguageError(
            f"the loop variable `{name}` is read after its loop",
            loc=node.loc,
            notes=["accepted: a local that is assigned before the loop and in it"],
        )
    if reaching_definitions.UNSET not in definitions:
        return
    if len(definitions) == 1:
        raise LanguageError(
            f"`{name}` is read before it is assigned",
            loc=node.loc,
            notes=["accepted: a parameter, or a local assigned before"],
        )
    lines = sorted({d.stmt.loc.line for d in definitions if isinstance(d, reaching_definitions.Assigned) and d.stmt.loc})
    where = f" (line {', '.join(map(str, lines))})" if lines else ""
    raise LanguageError(
        f"`{name}` may be read before it is assigned",
        loc=node.loc,
        notes=[
            f"it is assigned only in a branch, or in a loop that may not run{where}",
            "accepted: a value assigned before that",
        ],
    )


def _are_numbers(definitions: frozenset[reaching_definitions.Definition]) -> bool:
    """Returns whether a name may have no value, and is assigned else, not allocated or the variable of a loop."""
    others = definitions - {reaching_definitions.UNSET}
    assigned = (d for d in others if isinstance(d, reaching_definitions.Assigned) and isinstance(d.stmt, syntax.Assign))
    return bool(others) and len(list(assigned)) == len(others)


def _arrays(definitions: frozenset[reaching_definitions.Definition]) -> list[reaching_definitions.Assigned]:
    return [d for d in definitions if isinstance(d, reaching_definitions.Assigned) and isinstance(d.stmt, syntax.Alloc)]


def statements(stmts: Sequence[Stmt]) -> Iterator[Stmt]:
    """Yields each of the statements, and those inside its body or branches, in the order of the text."""
    for stmt in stmts:
        yield stmt
        for body in traversal.bodies(stmt):
            yield from statements(body)


def left(body: Sequence[Stmt]) -> set[str]:
    """Returns the labels of the Blocks around a block of statements that these may leave."""
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, syntax.Leave):
            found.add(stmt.label)
        inside = {label for inner in traversal.bodies(stmt) for label in left(inner)}
        found |= inside - {stmt.label} if isinstance(stmt, syntax.Block) else inside
    return found


def not_static(stmt: syntax.Stmt) -> NotAffineError:
    """Returns the error for a loop that data end, or a Block."""
    if isinstance(stmt, syntax.While):
        return NotAffineError(
            "a while loop is not static control", loc=stmt.loc, notes=["polyml compiles: `for i in range(...)`"], code="PML-F001"
        )
    if isinstance(stmt, syntax.Raise):
        note = "polyml compiles: conditions that sizes and integer arguments decide"
        return NotAffineError("raise is not static control", loc=stmt.loc, notes=[note], code="PML-F003")
    leave = next((s for s in statements((stmt,)) if isinstance(s, syntax.Leave)), stmt)
    word = leave.label.strip("_").rstrip("0123456789.") if isinstance(leave, syntax.Leave) else "break"
    if word == "return":
        note = "polyml compiles: return at the end, or at the end of a branch of an `if` outside loops"
        return NotAffineError("an early return is not static control", loc=leave.loc, notes=[note], code="PML-F002")
    note = "polyml compiles: loops that run all of their range, with `if` inside"
    return NotAffineError(f"{word} is not static control", loc=leave.loc, notes=[note], code="PML-F002")


def unused(name: str, taken: set[str]) -> str:
    """Returns `name`, or name.1, name.2, ... if it is taken, and adds the result to `taken`."""
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}.{number}"
    taken.add(candidate)
    return candidate


def bound_names(body: Sequence[Stmt]) -> set[str]:
    """Returns the names that assignments in a block bind; `T += x` does not count, nor do loop variables and allocations."""
    return {
        stmt.target.name
        for stmt in statements(body)
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) and not stmt.in_place
    }


def reads_of(body: Sequence[Stmt]) -> Counter:
    """Returns how often a block mentions each name; the targets of assignments to names do not count."""
    found: Counter = Counter()
    for stmt in statements(body):
        stored = (stmt.target,) if isinstance(stmt, syntax.Assign) and not isinstance(stmt.target, syntax.Name) else ()
        for expr in (*traversal.expressions(stmt), *stored):
            found.update(map(traversal.name_of, traversal.nodes(expr)))
    return found


def assigned_arrays(body: tuple[syntax.Stmt, ...]) -> frozenset[str]:
    """Returns the names of the arrays whose elements a block assigns."""
    assigned = (stmt.target for stmt in statements(body) if isinstance(stmt, syntax.Assign))
    return frozenset(target.array for target in assigned if isinstance(target, syntax.Subscript))


def assigned_names(body: Sequence[syntax.Stmt]) -> frozenset[str]:
    """Returns the names of the local scalars and loop variables that a block assigns."""
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            found.add(stmt.target.name)
        elif isinstance(stmt, syntax.For):
            found.add(stmt.var)
        for inner in traversal.bodies(stmt):
            found |= assigned_names(inner)
    return frozenset(found)
