"""The static control part: what the compiler knows of a kernel, as isl sets and relations.

Scop       statements + arrays + parameters + the source order as a schedule tree
Statement  S[i,j]: a domain, one written element, a value over the elements read
Access     { S[i,j] -> A[i,j] }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.source import Loc


class Role(Enum):
    ARGUMENT = "argument"  # passed in by the caller
    LOCAL = "local"  # allocated by the kernel
    RESULT = "result"  # allocated by the caller, returned


@dataclass(frozen=True, kw_only=True)
class Array:
    """shape: one parametric expression per dimension, { [] -> [(N)] }; () for a scalar, which is an array of one element.

    name is a C identifier (a scalar web `x.1` becomes `x_1`); `source_name` is what the user wrote.
    pairs: of complex numbers, whose parts, of type `element`, the first dimension has.
    """

    name: str
    element: DType
    shape: tuple[isl.PwAff, ...]
    role: Role
    source_name: str = ""
    pairs: bool = False
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Access:
    """One array reference of a statement.

    relation: { S[i,j,k] -> A[i,k] }, single valued and total on the statement's domain.
    subscripts: the same as one { S[i,j,k] -> [(i)] } per dimension, already wrapped (never negative for a legal call).
    may: under a data-dependent condition, so that it does not happen for every instance.
    """

    array: str
    relation: isl.Map
    subscripts: tuple[isl.PwAff, ...]
    may: bool = False
    loc: Loc | None = field(default=None, compare=False)

    @cached_property
    def coefficients(self) -> tuple[list[tuple[int | Fraction, ...]], ...]:
        """Of each subscript, those of the iterators in each of its pieces."""
        return tuple(map(polyhedra.iterator_coefficients, self.subscripts))


@dataclass(frozen=True)
class Load(syntax.Expr):
    """The element that `Statement.reads[access]` names."""

    access: int


@dataclass(frozen=True)
class Index(syntax.Expr):
    """An integer that is affine in the iterators and parameters: { S[i,j] -> [(i + 2N)] }. dtype: PYINT or I64."""

    value: isl.PwAff


@dataclass(frozen=True)
class ScalarArg(syntax.Expr):
    """The value of a number argument that is not a parameter."""

    name: str


@dataclass(frozen=True)
class Gather(syntax.Expr):
    """array[indices] at indices that data decide, in an argument that the kernel does not change. indices: I64, in the
    array by a check of the index arrays at entry. inside: so are those that are affine, whatever the sizes.
    """

    array: str
    indices: tuple[Value, ...]
    inside: bool = field(default=False, compare=False, kw_only=True)


# The value of a statement: syntax.{Const, Unary, Binary, Compare, Logical, IfExp, Call, Cast} over these leaves, all typed.
Value = syntax.Expr


@dataclass(frozen=True, kw_only=True)
class Statement:
    """`write = value` for every instance in domain.

    domain: { S[i,j] : ... }, dimensions named by `iterators`. Instances run all reads before the write.
    """

    name: str
    iterators: tuple[str, ...]
    domain: isl.Set
    write: Access
    reads: tuple[Access, ...]
    value: Value
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A condition tested once at entry, before anything is written.

    violated: { : N > M } over the parameters: the calls that break it.
    instances: [N, M] -> { S[i] : ... }: the instances that break it, from which the message takes a loop point.
    kind: "bounds" (IndexError), "range" (OverflowError: a Python int that its element type cannot hold),
    "shape" (ValueError: a negative dimension), "limit" (an integer argument beyond what loops are computed with), "usual" (another form is for
    such calls). may: only under a data-dependent condition; then the call runs as Python.
    subscript, size: of a bounds check, the subscript { S[i] -> [(i+1)] } as written and the size it must stay below.
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


@dataclass(frozen=True, kw_only=True)
class Scop:
    """parameters: every symbolic integer used, also the sizes that only checks mention.

    context: { : facts about parameters that hold for every call }, sizes not negative. usual: { : what checks of the kind "usual"
    leave besides }, None: nothing. limits: of symbolic integers, how far from 0 the entry lets them be. spared: local arrays of the
    source that no statement needs any more.
    schedule: the source order. body_order is the schedule tree's text: hash and cache by it.
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

    @property
    def checked(self) -> isl.Set:
        """{ : facts about parameters behind the checks at entry }"""
        return self.context if self.usual is None else self.context.intersect(self.usual)

    @cached_property
    def times(self) -> dict[str, isl.Map]:
        """{ S[i] -> [time] } in the source's order, by statement."""
        return {polyhedra.domain_name(m): m for m in polyhedra.pieces(self.schedule.get_map())}

    @cached_property
    def domain(self) -> isl.UnionSet:
        """{ S[i,j]; T[i] }: every instance of every statement, over the parameters that the domains mention."""
        empty = isl.UnionSet.empty(isl.Space.params_alloc(self.context.get_ctx(), 0))
        return polyhedra.union([isl.UnionSet.from_set(s.domain) for s in self.statements.values()], empty)
