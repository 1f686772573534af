"""The SCoP (static control part): what the compiler knows of a kernel, as isl sets and relations.

Scop       statements + arrays + parameters + the source order as a schedule tree
Statement  S[i,j]: a domain, one written element, a value over the elements read; or a Region, with any number of accesses
Access     { S[i,j] -> A[i,j] }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.model.core.call_interface import ArrayResult, Failure, Parameter, ScalarResult, SizeRelation
from polyml.model.index_arrays.origins import IndexFact, Origin, Traced
from polyml.quasi_affine.affine import Affine
from polyml.quasi_affine.from_isl import expression_of_iterators
from polyml.source import Loc
from polyml.values import cached_property


class Role(Enum):
    """A Role says who allocates an array: the caller for an argument or a result, the kernel for a local array."""

    ARGUMENT = "argument"  # passed in by the caller
    LOCAL = "local"  # allocated by the kernel
    RESULT = "result"  # allocated by the caller, returned
    LATE = "late"  # allocated by the kernel where data have decided its size


@dataclass(frozen=True, kw_only=True)
class Array:
    """An Array describes an array of a kernel, whose elements have one type; a scalar is an array of one element.

    name: a C identifier; a scalar live range `x.1` becomes `x_1`
    shape: one expression in the parameters per dimension, { [] -> [(N)] }; () for a scalar
    source_name: what the user wrote
    pairs: whether it holds complex numbers, as a first dimension of size 2 with their two parts, whose type is `element`
    address: the number that holds the address of an array whose size data decide; "" for any other
    is_list: whether it holds the elements of a list of Python's, whose errors in regions have its text
    """

    name: str
    element: DType
    shape: tuple[isl.PwAff, ...]
    role: Role
    source_name: str = ""
    pairs: bool = False
    address: str = ""
    is_list: bool = field(default=False, compare=False)
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Access:
    """An Access is one reference of a statement to an array.

    relation: { S[i,j,k] -> A[i,k] }, single valued and total on the statement's domain; of a Region all elements that an instance
        may access
    subscripts: the relation as one expression { S[i,j,k] -> [(i)] } per dimension (never negative in a legal call); () of a Region
    may: whether it stands under a data-dependent condition, so that it does not happen for every instance
    traced: where indices of a Region come from
    """

    array: str
    relation: isl.Map
    subscripts: tuple[isl.PwAff, ...]
    may: bool = False
    loc: Loc | None = field(default=None, compare=False)
    traced: tuple[Traced, ...] = field(default=(), compare=False)

    @cached_property
    def coefficients(self) -> tuple[list[tuple[int | Fraction, ...]], ...]:
        """Returns for each subscript a list of tuples, one for each piece of the expression: the coefficients of the iterators."""
        return tuple(map(polyhedra.iterator_coefficients, self.subscripts))

    @cached_property
    def expressions(self) -> tuple[Affine, ...]:
        """Returns the subscripts as quasi-affine expressions of the statement's iterators."""
        return tuple(map(expression_of_iterators, self.subscripts))


@dataclass(frozen=True)
class Load(syntax.Expr):
    """A Load is the value that a statement reads by its `reads[access]`, as a leaf of the statement's value."""

    access: int


@dataclass(frozen=True)
class Index(syntax.Expr):
    """An Index is an integer that is affine in the iterators and parameters, as a leaf of a statement's value.

    value: { S[i,j] -> [(i + 2N)] }; its dtype is Python's int or int64
    """

    value: isl.PwAff


@dataclass(frozen=True)
class ScalarArg(syntax.Expr):
    """A ScalarArg is a number argument of the call that is not a parameter, as a leaf of a statement's value."""

    name: str


@dataclass(frozen=True)
class Gather(syntax.Expr):
    """A Gather is an element array[indices] of an argument that the kernel does not change, at indices that data decide.

    indices: of type int64; a check of the index arrays at entry keeps them inside the array
    inside: whether those indices that are affine are known to be inside the array for all sizes
    """

    array: str
    indices: tuple[Value, ...]
    inside: bool = field(default=False, compare=False, kw_only=True)


@dataclass(frozen=True)
class RegionAccess:
    """A RegionAccess is one reference of a Region to an array.

    subscripts: by dimension, in the iterators of the loops around the region; None where that may be any index
    writes: whether it writes the element
    origins: by dimension, where an index comes from; None where that is not known
    spans: by dimension, the first index that it may be and the one behind the last one; None where that is not known
    """

    array: str
    subscripts: tuple[Affine | None, ...]
    writes: bool
    loc: Loc | None = field(default=None, compare=False)
    origins: tuple[Origin | None, ...] = ()
    spans: tuple[tuple[Affine, Affine] | None, ...] = ()


@dataclass(frozen=True)
class Region(syntax.Expr):
    """A Region is what a statement does whose control or subscripts data decide: statements that run in the source's order.

    It stands in the place of the value of an assignment, in a nest and in a SCoP.

    body: typed statements; a Name is a local number or a loop variable of the region itself, a Subscript without indices another
        number, an Integer one that is affine in iterators and sizes
    numbers: (name, type) of its local numbers
    accesses: all that an instance may read or write outside the region
    leaves: (label, iterator) of the loop around it that its Leaves of this label end; () where it ends none
    """

    body: tuple[syntax.Stmt, ...]
    numbers: tuple[tuple[str, DType], ...]
    accesses: tuple[RegionAccess, ...]
    leaves: tuple[str, str] | tuple[()] = ()

    @property
    def restarts(self) -> bool:
        """Returns whether an error in it leaves nothing written, so that plain Python runs the call again."""
        return any(isinstance(stmt, syntax.For) and stmt.restarts for stmt in statements(self.body))

    @property
    def expressions(self) -> Iterator[syntax.Expr]:
        """Yields every expression in the statements, targets of assignments included, and all that is inside of it."""
        for stmt in statements(self.body):
            for expr in traversal.accessed(stmt):
                yield from traversal.nodes(expr)

    @property
    def elements(self) -> Iterator[syntax.Subscript]:
        """Yields the elements that the statements read and write, those of numbers outside the region included."""
        return (node for node in self.expressions if isinstance(node, syntax.Subscript))


# The value of a statement: syntax.{Const, Unary, Binary, Compare, Logical, IfExp, Call, Cast} over these leaves, all typed.
Value = syntax.Expr


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A Statement is the assignment `write = value`, or a Region, which runs for every instance in its domain.

    domain: { S[i,j] : ... }, whose dimensions are named by `iterators`
    writes: the element that an assignment writes; all that a Region may write
    reads: the elements that the value reads, all before the write
    loops: where the loop of each iterator stands in the source, None where the compiler made it; () where that is not known
    """

    name: str
    iterators: tuple[str, ...]
    domain: isl.Set
    writes: tuple[Access, ...]
    reads: tuple[Access, ...]
    value: Value
    loc: Loc | None = field(default=None, compare=False)
    loops: tuple[Loc | None, ...] = field(default=(), compare=False)

    @property
    def write(self) -> Access:
        """Returns the element that an assignment writes. Raises TypeError for a Region, which has no one element."""
        if isinstance(self.value, Region):
            raise TypeError(f"{self.name} is a region, not an assignment")
        return self.writes[0]

    @property
    def region(self) -> Region | None:
        """Returns the Region that the statement is; None for an assignment."""
        return self.value if isinstance(self.value, Region) else None


OTHER_FORM = "a size of another form"  # what a check finds where other code is for the sizes of a call


@dataclass(frozen=True, kw_only=True)
class Check:
    """A Check is a condition that is tested once at entry, before anything is written.

    kind: "bounds" (IndexError), "range" (OverflowError: a Python int that its element type cannot hold), "shape" (ValueError: a
        negative dimension), "limit" (an integer argument beyond what loops are computed with), "usual" (calls that break it run
        in another form of the kernel), or "raise" (calls that break it run as plain Python, which raises what the source does)
    violated: { : N > M }, the parameters of calls that break it
    instances: [N, M] -> { S[i] : ... }, the instances that break it, from which the message takes one
    what: what is checked, for the message
    may: whether what is checked stands under a data-dependent condition; then a call that breaks the check runs as plain Python
    dim: the dimension of the array that the check is of
    subscript: of a bounds check, { S[i] -> [(i+1)] } as written
    size: of a bounds check, what the subscript must stay below
    """

    kind: str
    violated: isl.Set
    instances: isl.Set
    iterators: tuple[str, ...]
    what: str
    may: bool = False
    dim: int = 0
    subscript: isl.PwAff | None = None
    size: isl.PwAff | None = None
    loc: Loc | None = field(default=None, compare=False)


def raise_failure(stmt: syntax.Raise) -> Failure:
    """Returns the failure of a `raise` or `assert` in a region."""
    return Failure("raise", stmt.exception, dim=0 if stmt.loc is None else stmt.loc.line, args=stmt.args, loc=stmt.loc)


def operand_failure(operation: syntax.Binary) -> Failure:
    """Returns the failure of an operation of Python ints in a region that has no result for some right operands: // and % by zero,
    and shifts by negative counts.
    """
    loc = operation.loc
    if operation.op in ("//", "%"):
        return Failure("zero", operation.op if loc is None else loc.text, loc=loc)
    return Failure("raise", "ValueError", dim=0 if loc is None else loc.line, args=("negative shift count",), loc=loc)


def _may_have_no_result(node: syntax.Expr) -> bool:
    """Returns whether an expression is such an operation; a shift by a constant is none."""
    if not isinstance(node, syntax.Binary) or node.dtype != PYINT:
        return False
    return node.op in ("//", "%") or node.op in ("<<", ">>") and not isinstance(node.right, syntax.Const)


def position_failure(tested: syntax.Call) -> Failure:
    """Returns the failure of the index of a row, or another part of an array, that is tested in a region."""
    dim = tested.args[2]
    if tested.module in ("list", "list assignment"):
        return _list_failure(tested.module, tested.loc)
    return Failure(
        "index",
        tested.loc.text if tested.loc is not None else "an index",
        dim=dim.value if isinstance(dim, syntax.Const) else 0,
        loc=tested.loc,
    )


def _list_failure(what: str, loc: Loc | None) -> Failure:
    """Returns the failure of an index of a list of Python's. what: "list", or "list assignment" where it is stored"""
    return Failure("raise", "IndexError", dim=0 if loc is None else loc.line, args=(f"{what} index out of range",), loc=loc)


def unbound_failure(read: syntax.Call) -> Failure:
    """Returns the failure of a read of a name that may have no value."""
    line = 0 if read.loc is None else read.loc.line
    return Failure("raise", "UnboundLocalError", dim=line, args=(syntax.unbound_text(read),), loc=read.loc)


@dataclass(frozen=True, kw_only=True)
class Scop:
    """A Scop is a kernel as statements, arrays, parameters, checks and an order of the instances.

    params: the names of the kernel's parameters, in the order of the call
    types: their types
    parameters: every symbolic integer used, also the sizes that only checks mention
    context: { : facts about parameters that hold for every call }; sizes are not negative
    schedule: the source order
    usual: { : ... }, what also holds for calls that pass the checks of the kind "usual"; None where there are no such checks
    limits: the largest absolute value that the entry accepts, by symbolic integer
    spared: local arrays of the source that no statement needs any more
    related: relations between sizes that the statements take for granted, of which a check of the kind "usual" each is the test
    facts: what is known of index arrays that no statement writes
    """

    name: str
    params: tuple[str, ...]  # the kernel's parameters, in the order of the call
    types: tuple[syntax.ArgType, ...]
    parameters: tuple[Parameter, ...]
    arrays: dict[str, Array]
    statements: dict[str, Statement]
    context: isl.Set
    schedule: isl.Schedule
    checks: tuple[Check, ...]
    results: tuple[ScalarResult | ArrayResult, ...]
    result_is_tuple: bool
    usual: isl.Set | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    spared: tuple[Array, ...] = ()
    related: tuple[SizeRelation, ...] = ()
    facts: tuple[IndexFact, ...] = ()
    result_form: str = ""

    @property
    def checked(self) -> isl.Set:
        """Returns the parameter set { : ... } of the calls that pass the checks at entry."""
        return self.context if self.usual is None else self.context.intersect(self.usual)

    @cached_property
    def has_regions(self) -> bool:
        """Returns whether some of its statements are Regions."""
        return any(statement.region for statement in self.statements.values())

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """Returns the places in the regions at which a call may end with an error, each once, in source order."""
        regions = [s.region for s in self.statements.values() if s.region is not None]
        found: dict[Failure, None] = {}
        for node in (node for region in regions for node in region.expressions):
            if isinstance(node, syntax.Subscript) and not node.inside:
                found |= dict.fromkeys(
                    self.failure(node, dim, stores) for dim in range(len(node.indices)) for stores in (False, True)
                )
            if isinstance(node, syntax.Call) and node.function in ("position", "bound"):
                found[position_failure(node) if node.function == "position" else unbound_failure(node)] = None
            if isinstance(node, syntax.Binary) and _may_have_no_result(node):
                found[operand_failure(node)] = None
        raised = (stmt for region in regions for stmt in statements(region.body) if isinstance(stmt, syntax.Raise))
        return (*found, *(each for each in dict.fromkeys(map(raise_failure, raised)) if each not in found))

    def failure(self, element: syntax.Subscript, dim: int, stores: bool) -> Failure:
        """Returns the failure of an index of an element in a region. stores: whether it is assigned"""
        array = self.arrays[element.array]
        if array.is_list:
            what = "list assignment" if stores and dim == len(array.shape) - 1 else "list"
            return _list_failure(what, element.loc)
        text = element.loc.text if element.loc is not None else array.source_name
        return Failure("index", text, array.source_name, dim, loc=element.loc)

    @cached_property
    def times(self) -> dict[str, isl.Map]:
        """Returns the source order { S[i] -> [time] } of each statement, by the statement's name."""
        return {polyhedra.domain_name(m): m for m in polyhedra.pieces(self.schedule.get_map())}

    @cached_property
    def domain(self) -> isl.UnionSet:
        """Returns all instances { S[i,j]; T[i] } of all statements, over the parameters that the domains mention."""
        empty = isl.UnionSet.empty(isl.Space.params_alloc(self.context.get_ctx(), 0))
        return polyhedra.union([isl.UnionSet.from_set(s.domain) for s in self.statements.values()], empty)
