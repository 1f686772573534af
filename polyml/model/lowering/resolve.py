"""Lowering of typed syntax to a nest: affine integers become `Affine`, conditions become guards or selects.

Every scalar is written to memory; `model.nest_passes.forward_substitution` removes the writes that nobody reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyml.dtypes import BOOL, F64, I64, PYBOOL, PYFLOAT, PYINT
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.name_resolution import assigned_arrays, assigned_names, left, not_static, statements
from polyml.model.core.call_interface import ArrayResult, ScalarResult
from polyml.model.core.nest import QUOTIENTS_AROUND, Assign, Guard, Integer, Loop, Nest, Node, Read, Requirement, Truth, Value
from polyml.model.core.scop import RegionAccess, Role
from polyml.model.index_arrays.assumed import known_facts
from polyml.model.index_arrays.kernel_names import mentions
from polyml.model.lowering.affine_folding import CONDITIONS, formula_choice
from polyml.model.lowering.affine_values import BOUND_NOTE, Known, Stale, ValueResolver
from polyml.model.lowering.declarations import Declarations
from polyml.model.lowering.if_conversion import chooses_numbers, joined, leading_truths, reads, select, zero
from polyml.model.lowering.private_numbers import branch_locals, sunk
from polyml.model.lowering.regions.ended_loops import EndedLoop, ended_loop, with_exits_behind
from polyml.model.lowering.regions.region_building import PLAIN_LOOPS, LoopsAround, Outside, halves, region
from polyml.model.nest_passes.split_selects import explicit
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine, Condition
from polyml.quasi_affine.complexity import depth, quotients
from polyml.source import Loc

_PYTHON = {F64: PYFLOAT, BOOL: PYBOOL}
_CHOICE_DEPTH = 3
_FORMULAS = (af.Compare, af.Logic)
_COPIED_STATEMENTS = 8  # a branch up to this size may be copied to tell an affine condition from one on data


def resolve(kernel: syntax.Kernel, *, aliased: bool = False, regions: bool = False, around: LoopsAround = PLAIN_LOOPS) -> Nest:
    """Returns the nest of a typed kernel.

    Raises NotAffineError for a bound, subscript or shape that is not affine, and for loops that data end; with regions these become
    statements, and it is raised for what no region has.

    aliased: whether arguments may share memory
    regions: whether there may be regions
    around: what becomes of loops that have regions inside
    """
    kernel = with_exits_behind(kernel, around.divided) if regions else kernel
    loops = (stmt for stmt in statements(kernel.body) if isinstance(stmt, syntax.For))
    irregular = {id(loop) for loop in loops if loop.loc in around.sequential}  # what is not affine
    own = {id(s) for s in statements(kernel.body)}
    while True:
        builder = _NestBuilder(kernel, aliased, frozenset(irregular) if regions else None, around.divided)
        try:
            return builder.nest()
        except NotAffineError as problem:
            if not regions or id(builder.refused) not in own - irregular:  # one that was made here has another identity each time
                raise problem.at(None if builder.refused is None else builder.refused.loc) from None
            if isinstance(builder.refused, syntax.Alloc) and not builder.refused.late:  # its size is known before what uses it
                raise
            irregular.add(id(builder.refused))


@dataclass(frozen=True)
class _Scope:
    """A _Scope says what is around a statement.

    iterators: those of the loops around it, outermost first
    predicate: the condition on data under which it runs; None where there is none
    private: the numbers that live where it holds alone
    is_divided: whether what stands beside a region is none of its statements, since the innermost loop around is divided
    """

    iterators: tuple[str, ...] = ()
    predicate: Value | None = None
    private: frozenset[str] = frozenset()
    is_divided: bool = True


@dataclass(frozen=True)
class _Element:
    """An _Element is the array element that an assignment stores to; its fields are those of nest.Assign."""

    array: str
    subscripts: tuple[Affine, ...] = ()
    loc: Loc | None = None
    inside: bool = False


class _NestBuilder:
    """A _NestBuilder makes the nodes of a nest, statement by statement in source order.

    irregular: the identities of statements that are not affine, which become regions; None where there are no regions
    divided: the places of loops around regions of which every statement stays by itself
    refused: the innermost statement for which NotAffineError was raised
    """

    def __init__(self, kernel: syntax.Kernel, aliased: bool, irregular: frozenset[int] | None, divided: frozenset[Loc]) -> None:
        self._kernel, self._aliased, self._irregular, self._divided = kernel, aliased, set(irregular or ()), divided
        self._has_regions = irregular is not None
        self._kept: list[tuple[syntax.Stmt, ...]] = []  # blocks that are made here; kept so that their identities stay theirs
        self._cut: list[syntax.Block] = []  # that have lost their first statements; kept so that their identities stay theirs
        self._mentions = mentions(kernel.body)
        self.refused: syntax.Stmt | None = None
        self._declared = Declarations(kernel)
        unchanged = frozenset() if aliased else frozenset(p.name for p in kernel.params) - assigned_arrays(kernel.body)
        self._values = ValueResolver(self._declared, unchanged, self._require_result)
        self._depth = 0  # loops and affine conditions around
        self._data_conditions = 0  # conditions on data around
        self._conditions = 0  # affine ones treated like those on data, since they have many quotients
        self._around: list[Loop | Guard] = []  # without their bodies
        self._requirements: list[Requirement] = []
        self._returned = _returned_arrays(kernel)
        self._exits: dict[str, tuple[str, str]] = {}  # label -> iterator of a loop that data end, and the number that exits write

    def nest(self) -> Nest:
        """Returns the nest of the whole kernel."""
        body, declared = self._block(self._kernel.body, _Scope()), self._declared
        facts = () if self._aliased else tuple(known_facts(self._kernel, declared.array_names, declared.bound))
        results: tuple[ScalarResult | ArrayResult, ...] = ()
        is_tuple, form = False, ""
        if self._kernel.body and isinstance(self._kernel.body[-1], syntax.Return):
            last = self._kernel.body[-1]
            extra, results = self._results(last)
            body, is_tuple, form = body + extra, last.is_tuple, last.form
        return Nest(
            body, self._declared.arrays, tuple(self._declared.parameters.values()), results, is_tuple,
            tuple(self._requirements), tuple(self._values.contents.values()), truths=self._declared.truths,
            facts=facts,
            result_form=form,
        )  # fmt: skip

    def _block(self, body: tuple[syntax.Stmt, ...], scope: _Scope) -> tuple[Node, ...]:
        if not scope.is_divided and self._is_irregular(body) and len(body) > 1 and self._is_loop(body[-1]):
            body = sunk(body, self._mentions)
            self._kept.append(body)
        if not scope.is_divided and self._is_irregular(body) and not (len(body) == 1 and self._is_loop(body[0])):
            return (self._region(body, scope),)
        nodes: list[Node] = []
        for part in self._parts(body) if self._irregular and scope.is_divided else ((stmt,) for stmt in body):
            try:
                nodes.extend(self._part(part, scope))
            except NotAffineError:
                self.refused = self.refused or part[-1]
                raise
        return tuple(nodes)

    def _parts(self, body: tuple[syntax.Stmt, ...]) -> list[tuple[syntax.Stmt, ...]]:
        """Returns the statements of a block one by one, but what is not affine together with the assignments before it that begin
        numbers which it changes.
        """
        parts: list[tuple[syntax.Stmt, ...]] = []
        for stmt in body:
            own: list[syntax.Stmt] = [stmt]
            if self._is_irregular((stmt,)) and not self._is_loop(stmt):
                if isinstance(stmt, syntax.Block):
                    first, rest = halves(stmt.body)
                    parts += self._parts(first)
                    self._cut.append(replace(stmt, body=rest))
                    self._irregular.add(id(self._cut[-1]))
                    own = [self._cut[-1]]
                changed, kept = assigned_names(own), list[syntax.Stmt]()
                while parts and len(parts[-1]) == 1 and (begin := _begins_number(parts[-1][0])):
                    (before,) = parts.pop()
                    if begin in changed and not {begin, *mentions((before,))} & {*mentions(kept)}:
                        own.insert(0, before)
                    else:
                        kept.insert(0, before)
                parts += [(each,) for each in kept]
            parts.append(tuple(own))
        return parts

    def _is_irregular(self, body: Sequence[syntax.Stmt]) -> bool:
        """Returns whether a statement among these, or inside one of them, is not affine."""
        return bool(self._irregular) and any(id(stmt) in self._irregular for stmt in statements(body))

    def _is_loop(self, stmt: syntax.Stmt) -> bool:
        """Returns whether a statement is a loop of the model: one that is affine itself, or that data end."""
        is_affine = isinstance(stmt, syntax.For) and id(stmt) not in self._irregular and not left((stmt,))
        return is_affine or self._ended_loop(stmt) is not None

    def _ended_loop(self, stmt: syntax.Stmt) -> EndedLoop | None:
        """Returns the loop that data end which a statement is, if it is to be one of the model; else None."""
        found = ended_loop(stmt) if self._divided and isinstance(stmt, (syntax.While, syntax.Block)) else None
        if found is None or found.loop.loc not in self._divided or self._data_conditions:
            return None
        return None if {id(stmt), id(found.loop)} & self._irregular else found

    def _part(self, part: tuple[syntax.Stmt, ...], scope: _Scope) -> tuple[Node, ...]:
        """Returns the nodes of one of the parts of a block: a region where it is not affine."""
        if self._is_irregular(part) and not self._is_loop(part[-1]):
            return (self._region(part, scope),)
        (stmt,) = part
        return self._statement(stmt, scope)

    def _region(self, body: Sequence[syntax.Stmt], scope: _Scope) -> Assign:
        """Returns the node of a region."""
        if scope.predicate is not None:
            raise TypeError("a condition on data is part of the region that it has inside")
        env, sizes = self._values.env, {p.name for p in self._declared.parameters.values() if p.is_size}
        iterators = {name: e for name, e in env.items() if isinstance(e, Affine) and e.names <= sizes.union(scope.iterators)}
        changed = assigned_names(body)
        known = {name: e for name, e in iterators.items() if name not in changed}
        for name in changed:
            env[name] = None
        outside = Outside(
            known, self._mentions, lambda stmt: self._allocated(stmt, scope), self._require, is_once=not scope.iterators
        )
        made = region(body, self._declared, outside)
        for label in left(body) & self._exits.keys():
            iterator, number = self._exits[label]
            both = (RegionAccess(number, (), False, body[-1].loc), RegionAccess(number, (), True, body[-1].loc))
            made = replace(made, leaves=(label, iterator), accesses=(*made.accesses, *both))
        return Assign("", (), made, loc=body[0].loc, inside=True)

    def _allocated(self, stmt: syntax.Alloc, scope: _Scope) -> tuple[str, tuple[Affine, ...]]:
        """Declares an array that a region allocates, and returns its name and sizes."""
        if stmt.late:
            known = self._declared.array_names.get(stmt.name) if len(stmt.extents) > 1 else None
            return known or self._declared.allocate_late(stmt), ()
        if stmt.name in self._returned:
            raise NotAffineError(
                f"the allocation of `{stmt.name}` depends on data", loc=stmt.loc, notes=["allocate before it"], code="PML-F030"
            )
        shape = tuple(self._values.size(extent, scope.iterators) for extent in stmt.extents)
        name = self._declared.allocate(stmt, shape, Role.LOCAL, conditional=True)
        return name, self._declared.arrays[name].shape

    def _statement(self, stmt: syntax.Stmt, scope: _Scope) -> tuple[Node, ...]:
        if isinstance(stmt, syntax.Assign):
            return (self._assign(stmt, scope),)
        if isinstance(stmt, syntax.For):
            return (self._for(stmt, scope),)
        if (ended := self._ended_loop(stmt)) is not None:
            return (self._for(ended.loop, scope, ended),)
        if isinstance(stmt, syntax.If):
            return self._if(stmt, scope)
        if isinstance(stmt, syntax.Alloc):
            return self._alloc(stmt, scope)
        if isinstance(stmt, syntax.Require):
            self._require(stmt)
        elif not isinstance(stmt, syntax.Return):
            raise not_static(stmt)
        return ()

    def _require(self, stmt: syntax.Require) -> None:
        """Adds a requirement to the nest. Raises NotAffineError where it is not affine."""
        condition = self._values.truth(stmt.condition)
        if not isinstance(condition, Truth):
            raise NotAffineError(f"whether there is {stmt.what} is not affine", loc=stmt.loc, notes=[BOUND_NOTE], code="PML-F030")
        self._add_requirement(condition.formula, stmt.what, stmt.loc)

    def _add_requirement(self, formula: Condition, what: str, loc: Loc | None, kind: str = "usual") -> None:
        if formula == af.TRUE:
            return
        around, used = tuple(self._around), formula.names
        if all(isinstance(node, Loop) and node.iterator not in used for node in around):
            around = ()  # tested once, also in a call in which the loops do not run
        self._requirements.append(Requirement(around, formula, what, loc, kind))

    def _require_result(self, formula: Condition, what: str, loc: Loc | None) -> None:
        """Leaves calls to Python at entry in which an operation on arguments and loop variables raises."""
        self._add_requirement(formula, what, loc, "raise")

    def _assign(self, stmt: syntax.Assign, scope: _Scope) -> Assign:
        """Returns an assignment, and records what the assigned local scalar equals from now on."""
        value = self._values.value(stmt.value)
        target, predicate = stmt.target, scope.predicate
        if isinstance(target, syntax.Subscript):
            array, subscripts = self._values.element(target)
            return self._store(_Element(array, subscripts, target.loc, target.inside), value, predicate, stmt.loc)
        if not isinstance(target, syntax.Name):
            raise TypeError(f"an array that is stored as a whole became loops before: {target!r}")
        self._values.assigned(target, stmt.value, value)
        dtype = self._declared.scalar_types.get(target.name, value.dtype)
        to = _Element(self._declared.scalar(target.name, dtype))
        if predicate is not None and target.name in scope.private and not reads(value, to.array):
            value, predicate = select(predicate, value, zero(value.dtype)), None
        return self._store(to, value, predicate, stmt.loc)

    def _store(self, to: _Element, value: Value, predicate: Value | None, loc: Loc | None) -> Assign:
        """Returns the assignment `to = value`; under a predicate its value is a select that otherwise keeps the element."""
        if predicate is not None:
            old = Read(to.array, to.subscripts, dtype=self._declared.arrays[to.array].element, loc=to.loc, inside=to.inside)
            value = select(predicate, value, old)
        return Assign(to.array, to.subscripts, value, predicate is not None, loc, to.loc, to.inside)

    def _for(self, stmt: syntax.For | syntax.While, scope: _Scope, ended: EndedLoop | None = None) -> Loop:
        """Returns the loop of a `for`, or of a loop that data end, with its body.

        Numbers that the body assigns count as unknown where it begins; after the loop its variable may not be read.
        """
        env, own = self._values.env, stmt.var if isinstance(stmt, syntax.For) else "trip"
        first, *last = (
            (self._values.bound(stmt.start), self._values.bound(stmt.stop)) if isinstance(stmt, syntax.For) else (Affine(0),)
        )
        iterator = self._declared.names.local(own, scope.iterators)
        if ended is not None:
            last = [af.extremum("min", [*last, self._declared.end(iterator)])]
        changed = assigned_names(stmt.body)
        for name in changed:
            env[name] = None
        env[own] = af.variable(iterator)
        begin: tuple[Node, ...] = ()
        if own in changed:
            here = Integer(af.variable(iterator), dtype=PYINT)
            begin = (self._store(_Element(self._declared.scalar(own, PYINT)), here, scope.predicate, stmt.loc),)
        loop = Loop(iterator, first, last[0], stmt.step if isinstance(stmt, syntax.For) else 1, (), stmt.loc)
        self._depth += 1
        self._around.append(loop)
        inside = replace(scope, iterators=(*scope.iterators, iterator), is_divided=stmt.loc in self._divided)
        body = begin + (self._block(stmt.body, inside) if ended is None else self._ended(ended, inside))
        self._around.pop()
        self._depth -= 1
        env = self._values.env
        for name in changed:
            env[name] = None if env.get(name) is not Stale.STALE else Stale.STALE
        env[own] = Stale.STALE
        return replace(loop, body=body)

    def _ended(self, found: EndedLoop, scope: _Scope) -> tuple[Node, ...]:
        """Returns the nodes of the body of a loop that data end: behind each exit, they run up to an end of their own."""
        *_, iterator = scope.iterators
        self._exits[found.label] = iterator, self._declared.temporary("left", BOOL)
        self._kept.append(found.exits)
        self._irregular |= set(map(id, found.exits))
        nodes = list(self._block(found.parts[0], scope))
        for part in found.parts[1:]:
            runs = af.compare("<", af.variable(iterator), self._declared.end(iterator))
            self._depth += 1
            nodes += [guard] if (guard := self._guarded(runs, part, scope)).body else []
            self._depth -= 1
        return tuple(nodes)

    def _if(self, stmt: syntax.If, scope: _Scope) -> tuple[Node, ...]:
        """Returns the nodes of an `if`: guards for an affine condition, selects for one on data, both for `affine and data`."""
        test = self._values.truth(stmt.condition)
        if isinstance(test, Truth):
            if scope.predicate is not None and chooses_numbers(test.formula, stmt, scope.iterators):
                return self._data_if(explicit(test.formula, BOOL), stmt, scope)
            if self._has_few_quotients(test.formula):
                passed = self._raised(test.formula, stmt) if scope.predicate is None else None
                return self._affine_if(test.formula, passed or stmt, scope)
            self._count_condition(stmt.condition)
            return self._data_if(explicit(test.formula, BOOL), stmt, scope)
        first, rest, op = leading_truths(test)
        branch = stmt.orelse if op == "and" else stmt.then  # the one that the affine part of the condition decides alone
        if first is None or not self._has_few_quotients(first) or _count(branch) > _COPIED_STATEMENTS:
            return self._data_if(test, stmt, scope)
        if scope.predicate is not None and chooses_numbers(first, stmt, scope.iterators):
            return self._data_if(test, stmt, scope)
        before = dict(self._values.env)
        inside = first if op == "and" else af.negate(first)
        data = Guard(inside, self._data_if(rest, stmt, scope))
        after_data, self._values.env = self._values.env, before
        decided = Guard(af.negate(inside), self._block(branch, scope))
        self._values.env = _merged(None, after_data, self._values.env)
        return (data, decided) if decided.body else (data,)

    def _raised(self, formula: Condition, stmt: syntax.If) -> syntax.If | None:
        """Returns an `if` without its branch that raises, where it has one; calls in which that runs are left to Python at entry.

        formula: the condition, which arguments and loop variables decide
        """
        for body, raises in ((stmt.then, formula), (stmt.orelse, af.negate(formula))):
            if body and isinstance(body[0], syntax.Raise):
                what = f"a call that raises {body[0].exception}"
                self._add_requirement(af.negate(raises), what, body[0].loc, "raise")
                return replace(stmt, then=()) if body is stmt.then else replace(stmt, orelse=())
        return None

    def _count_condition(self, condition: syntax.Expr) -> None:
        self._conditions += 1
        if self._conditions > CONDITIONS:
            what = f"there are more than {CONDITIONS} conditions with // or % beside others"
            notes = ["write them as a table: an array of what each remainder selects"]
            raise NotAffineError(what, loc=condition.loc, notes=notes, code="PML-F030")

    def _has_few_quotients(self, formula: Condition) -> bool:
        """Returns whether an affine condition, with those around it, has so few divisions and remainders that isl can handle them.

        One that has more is treated like a condition on data.
        """
        around = (node.condition for node in self._around if isinstance(node, Guard))
        return quotients(formula, *around) <= QUOTIENTS_AROUND

    def _affine_if(self, formula: Condition, stmt: syntax.If, scope: _Scope) -> tuple[Node, ...]:
        """Returns a guard for each branch of an `if` that can run.

        formula: its condition
        """
        before = dict(self._values.env)
        nodes = []
        self._depth += 1
        if formula != af.FALSE:
            nodes.append(self._guarded(formula, stmt.then, scope))
        after_then, self._values.env = self._values.env, before
        if formula != af.TRUE:
            nodes.append(self._guarded(af.negate(formula), stmt.orelse, scope))
        self._depth -= 1
        self._values.env = _merged(formula, after_then, self._values.env)
        return tuple(node for node in nodes if node.body)

    def _guarded(self, formula: Condition, body: tuple[syntax.Stmt, ...], scope: _Scope) -> Guard:
        self._around.append(Guard(formula, ()))
        guard = Guard(formula, self._block(body, scope))
        self._around.pop()
        return guard

    def _data_if(self, test: Value, stmt: syntax.If, scope: _Scope) -> tuple[Node, ...]:
        """Returns the nodes of an `if` on data: its condition is stored, then both branches assign selects on it.

        test: its condition
        """
        flag_name = self._declared.temporary("cond", BOOL)
        whole = test if scope.predicate is None else syntax.Logical("and", (scope.predicate, test), dtype=BOOL)
        stored = Read(flag_name, (), dtype=BOOL)
        before = dict(self._values.env)
        private = branch_locals(stmt.then, self._mentions)
        self._data_conditions += 1
        then_nodes = self._block(stmt.then, replace(scope, predicate=stored, private=private))
        after_then, self._values.env = self._values.env, before
        otherwise: Value = syntax.Unary("not", stored, dtype=BOOL)
        if scope.predicate is not None:
            otherwise = syntax.Logical("and", (scope.predicate, otherwise), dtype=BOOL)
        private = branch_locals(stmt.orelse, self._mentions)
        else_nodes = self._block(stmt.orelse, replace(scope, predicate=otherwise, private=private))
        self._data_conditions -= 1
        self._values.env = _merged(None, after_then, self._values.env)
        head = Assign(flag_name, (), whole, False, None)
        thens, elses = (tuple(node for node in nodes if isinstance(node, Assign)) for nodes in (then_nodes, else_nodes))
        if len(thens) == len(then_nodes) and len(elses) == len(else_nodes):
            return (head, *joined(stored, otherwise, thens, elses, self._declared.renamed))
        return (head, *then_nodes, *else_nodes)

    def _alloc(self, stmt: syntax.Alloc, scope: _Scope) -> tuple[Node, ...]:
        """Declares the array that a statement allocates, and returns the loops that fill it, if it is filled."""
        if stmt.late:
            raise NotAffineError("the size of an array depends on data", loc=stmt.loc, code="PML-F030")
        shape = tuple(self._values.size(extent, scope.iterators) for extent in stmt.extents)
        if scope.predicate is not None and stmt.name in self._returned:
            what, notes = f"the allocation of `{stmt.name}` depends on data", ["allocate before the `if`"]
            raise NotAffineError(what, loc=stmt.loc, notes=notes, code="PML-F030")
        role = Role.RESULT if stmt.name in self._returned else Role.LOCAL
        conditional = self._depth > 0 or scope.predicate is not None
        name = self._declared.allocate(stmt, shape, role, conditional=conditional)
        if stmt.fill is None:
            return ()
        shape, element, value = self._declared.arrays[name].shape, stmt.dtype.part, self._values.value(stmt.fill)
        if value.dtype != element:
            value = syntax.Cast(value, element, True, dtype=element, loc=stmt.loc)
        inner = list(scope.iterators)
        for dim in range(len(shape)):
            inner.append(self._declared.names.local(f"d{dim}", tuple(inner)))
        own = inner[len(scope.iterators) :]
        node: Node = Assign(name, tuple(map(af.variable, own)), value, False, stmt.loc, inside=True)
        for iterator, extent in zip(reversed(own), reversed(shape)):
            node = Loop(iterator, Affine(0), extent, 1, (node,), stmt.loc)
        return (node,)

    def _results(self, stmt: syntax.Return) -> tuple[tuple[Node, ...], tuple[ScalarResult | ArrayResult, ...]]:
        """Returns the assignments that store the numbers which the kernel returns, and all its results."""
        nodes: list[Node] = []
        results: list[ScalarResult | ArrayResult] = []
        for value, python in zip(stmt.values, stmt.python):
            if isinstance(value, syntax.ArrayName):
                array = self._declared.array_names[value.name]
                info = self._declared.arrays[array]
                results.append(ArrayResult(array, len(value.sizes), self._declared.late_types[array] if info.address else None))
                if info.address:
                    results.append(ScalarResult(info.address, I64))
                for size in value.sizes:
                    results.append(ScalarResult(self._result(size, nodes, stmt.loc), PYINT))
                continue
            numbers: tuple[syntax.Expr, ...] = (value,)
            whole = None
            if isinstance(value, syntax.Call) and value.dtype.is_complex:
                whole, numbers = value.dtype, value.args
            for number in numbers:
                array = self._result(number, nodes, stmt.loc)
                element = self._declared.arrays[array].element
                results.append(ScalarResult(array, _PYTHON.get(element, element) if python else element, whole))
        return tuple(nodes), tuple(results)

    def _result(self, value: syntax.Expr, nodes: list[Node], loc: Loc | None) -> str:
        """Returns the scalar array that holds a returned number; appends an assignment to `nodes` where none holds it yet."""
        scalars = self._declared.scalar_names
        if isinstance(value, syntax.Name) and value.name in scalars and not self._values.is_stale(value.name):
            return scalars[value.name]
        try:
            made = self._values.value(value)
        except NotAffineError:
            if not self._has_regions:
                raise
            name = syntax.Name(f"_result.{len(nodes)}", dtype=value.dtype, loc=value.loc or loc)
            self._mentions[name.name] = 2  # here, and where the result is handed out
            nodes.append(self._region((syntax.Assign(name, value, loc=name.loc),), _Scope()))
            return self._declared.scalar(name.name, value.dtype)
        array = self._declared.temporary("result", value.dtype)
        nodes.append(Assign(array, (), made, False, value.loc or loc))
        return array


def _begins_number(stmt: syntax.Stmt) -> str:
    """Returns the name of the local number that a statement assigns; "" for a statement of another kind."""
    return stmt.target.name if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name) else ""


def _merged(formula: Condition | None, then: dict[str, Known | None], orelse: dict[str, Known | None]) -> dict[str, Known | None]:
    """Returns what is known of local numbers after an `if`, from what is known after each of its branches.

    formula: the affine condition; None where it depends on data, so that only what both branches agree on is known
    """
    result: dict[str, Known | None] = {}
    for name in {**then, **orelse}:
        a, b = then.get(name), orelse.get(name)
        if a == b:
            result[name] = a
        elif Stale.STALE in (a, b):
            result[name] = Stale.STALE
        elif formula is None:
            result[name] = None
        elif isinstance(a, Affine) and isinstance(b, Affine):
            value = af.choice(formula, a, b)
            result[name] = value if depth(value) <= _CHOICE_DEPTH else None
        elif isinstance(a, _FORMULAS) and isinstance(b, _FORMULAS):
            result[name] = formula_choice(formula, a, b)
        else:
            result[name] = None
    return result


def _count(body: tuple[syntax.Stmt, ...]) -> int:
    """Returns the number of statements in a body, those of inner blocks included."""
    total = len(body)
    for stmt in body:
        if isinstance(stmt, syntax.For):
            total += _count(stmt.body)
        elif isinstance(stmt, syntax.If):
            total += _count(stmt.then) + _count(stmt.orelse)
    return total


def _returned_arrays(kernel: syntax.Kernel) -> frozenset[str]:
    last = kernel.body[-1] if kernel.body else None
    if not isinstance(last, syntax.Return):
        return frozenset()
    return frozenset(v.name for v in last.values if isinstance(v, syntax.ArrayName))
