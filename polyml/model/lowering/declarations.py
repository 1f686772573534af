"""The arrays, parameters and names of a nest, which are declared as the kernel mentions them."""

from __future__ import annotations

from dataclasses import replace

from polyml.dtypes import I64, DType
from polyml.frontend import syntax, traversal
from polyml.model.core.call_interface import Parameter
from polyml.model.core.identifiers import Names
from polyml.model.core.nest import ArrayInfo, Integer, Truth, Value
from polyml.model.core.scop import Role, ScalarArg
from polyml.model.lowering.arithmetic.complex_parts import parts_of
from polyml.model.lowering.if_conversion import flag
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine
from polyml.source import Loc

LATE_SIZE = 2**40  # stands for the size of an array that data decide, which has fewer elements


class Declarations:
    """A Declarations holds the arrays and parameters of a nest, under names that isl and LLVM accept.

    types: of the kernel's arguments, by the user's name
    scalar_types: of local scalars, by the user's name
    arrays, parameters: by their name in the nest
    array_names, scalar_names, argument_names: the user's name -> the name in the nest
    shape_names: (argument, dimension) -> the parameter that is its size
    late_types: of vectors whose size data decide, the type of the elements, which are two numbers each where they are complex
    """

    def __init__(self, kernel: syntax.Kernel) -> None:
        self.names = Names()
        self.types = {p.name: t for p, t in zip(kernel.params, kernel.types)}
        self.scalar_types = dict(kernel.scalars)
        self.arrays: dict[str, ArrayInfo] = {}
        self.parameters: dict[str, Parameter] = {}
        self.array_names: dict[str, str] = {}
        self.scalar_names: dict[str, str] = {}
        self.argument_names: dict[str, str] = {}
        self.shape_names: dict[tuple[str, int], str] = {}
        self.late_types: dict[str, DType] = {}
        self._declare_arguments(kernel)

    def _declare_arguments(self, kernel: syntax.Kernel) -> None:
        """Declares the kernel's arguments: numbers, then arrays, then the arrays' sizes.

        In this order each gets the user's name where it is free.
        """
        bound, places = _bound_shapes(kernel), {p.name: p.loc for p in kernel.params}
        for name, type_ in self.types.items():
            if isinstance(type_, syntax.ArrayType):
                continue
            for number in parts_of(name) if type_.dtype.is_complex else (name,):
                self.argument_names[number] = self.names.fresh(number)
        for name, type_ in self.types.items():
            if isinstance(type_, syntax.ArrayType):
                self.array_names[name] = self.names.fresh(name)
        for name, type_ in self.types.items():
            if not isinstance(type_, syntax.ArrayType):
                continue
            for dim in range(type_.ndim):
                wanted = bound.get((name, dim), f"{self.array_names[name]}_{dim}")
                own = self.names.fresh(wanted)
                self.shape_names[name, dim] = own
                self.parameters[own] = Parameter(own, name, dim, argument=name)
            shape = tuple(af.variable(self.shape_names[name, dim]) for dim in range(type_.ndim))
            self.arrays[self.array_names[name]] = _array(type_.element, shape, Role.ARGUMENT, name, loc=places[name])

    def allocate(self, stmt: syntax.Alloc, shape: tuple[Affine, ...], role: Role, *, conditional: bool) -> str:
        """Declares the array that a statement allocates, and returns its name in the nest.

        conditional: whether the allocation stands inside a loop or condition
        """
        name = self.names.fresh(stmt.name)
        self.array_names[stmt.name] = name
        made = _array(stmt.dtype, shape, role, stmt.name, conditional=conditional, loc=stmt.loc)
        self.arrays[name] = replace(made, is_list=stmt.listed)
        return name

    def allocate_late(self, stmt: syntax.Alloc) -> str:
        """Declares a vector whose size data decide, and the number that holds its address; returns its name in the nest."""
        name = self.allocate(replace(stmt, element=stmt.dtype.part), (Affine(LATE_SIZE),), Role.LATE, conditional=True)
        self.late_types[name] = stmt.dtype
        self.arrays[name] = replace(self.arrays[name], address=self.temporary(f"{name}_address", I64), loc=None)
        return name

    def scalar(self, name: str, dtype: DType) -> str:
        """Returns the name of the array of rank 0 that holds the local scalar `name`; declares it on first use."""
        if name not in self.scalar_names:
            self.scalar_names[name] = self.temporary(name, dtype)
        return self.scalar_names[name]

    def temporary(self, wanted: str, dtype: DType) -> str:
        """Declares a new array of rank 0 for a scalar, and returns its name, which is close to `wanted`."""
        own = self.names.fresh(wanted)
        self.arrays[own] = ArrayInfo(dtype, (), Role.LOCAL, wanted)
        return own

    def renamed(self, name: str) -> str | None:
        """Declares a new scalar of the same type as the local scalar `name`, and returns its name.

        It does nothing and returns None where `name` is an array, an argument or a result.
        """
        info = self.arrays[name]
        return None if info.shape or info.role is not Role.LOCAL else self.temporary(info.source_name, info.element)

    def argument(self, name: str, dtype: DType) -> Value:
        """Returns a number argument as a value; it is an affine one where it is an integer or a truth value."""
        own = self.argument_names[name]
        if not (dtype.is_integer or dtype.kind == "b"):
            return ScalarArg(name, dtype=dtype)
        self.parameters.setdefault(own, Parameter(own, argument=name))
        if dtype.kind == "b":
            return Truth(flag(own), dtype=dtype)
        return Integer(af.variable(own), dtype=dtype)

    def size(self, array: str, dim: int) -> Affine:
        """Returns `array.shape[dim]` of an argument or a local array.

        array: the user's name
        """
        if array in self.types:
            return af.variable(self.shape_names[array, dim])
        info = self.arrays[self.array_names[array]]
        return info.shape[dim + info.pairs]

    def bound(self, expr: syntax.Expr) -> Affine | None:
        """Returns a bound that a kernel assumes (`frontend.syntax.Fact`) as an affine one; None where it is none."""
        match expr:
            case syntax.Const(value=value):
                return Affine(int(value))
            case syntax.Shape(array=array, dim=dim):
                return self.size(array, dim) if (array, dim) in self.shape_names else None
            case syntax.Name(name=name):
                kind = self.types.get(name)
                value = self.argument(name, kind.dtype) if isinstance(kind, syntax.ScalarType) and kind.dtype.is_integer else None
                return value.affine if isinstance(value, Integer) else None
            case syntax.Binary(op=op, left=left, right=right):
                one, other = self.bound(left), self.bound(right)
                return None if one is None or other is None else one + other if op == "+" else one - other
        return None

    @property
    def truths(self) -> frozenset[str]:
        """Returns the names of the parameters that are truth values."""
        numbers = {name: kind.dtype for name, kind in self.types.items() if isinstance(kind, syntax.ScalarType)}
        return frozenset(
            p.name for p in self.parameters.values() if p.is_number and p.argument in numbers and numbers[p.argument].kind == "b"
        )

    def end(self, iterator: str) -> Affine:
        """Declares where a loop over an iterator ends that data end."""
        name = self.names.fresh(f"{iterator}_end")
        self.parameters[name] = Parameter(name, found=True)
        return af.variable(name)

    def extreme(self, array: str, which: str) -> Affine:
        """Returns the parameter that is the least or greatest element of an index array; declares it on first use.

        which: "min" or "max"
        """
        name = next((p.name for p in self.parameters.values() if (p.array, p.extreme) == (array, which)), None)
        if name is None:
            name = self.names.fresh(f"{array}_{which}")
            self.parameters[name] = Parameter(name, array, argument=array, extreme=which)
        return af.variable(name)


def _array(
    element: DType, shape: tuple[Affine, ...], role: Role, source_name: str, *, conditional: bool = False, loc: Loc | None
) -> ArrayInfo:
    """Returns the description of an array; one of complex numbers becomes an array of their parts."""
    shape = (Affine(2), *shape) if element.is_complex else shape
    return ArrayInfo(element.part, shape, role, source_name, conditional=conditional, loc=loc, pairs=element.is_complex)


def _bound_shapes(kernel: syntax.Kernel) -> dict[tuple[str, int], str]:
    """Returns the names to which the kernel's outermost block assigns sizes, `N = array.shape[dim]`, by (array, dimension).

    A name that is assigned elsewhere, too, is left out.
    """
    counts: dict[str, int] = {}
    _count_assignments(kernel.body, counts)
    found: dict[tuple[str, int], str] = {}
    for stmt in kernel.body:
        if not (isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name)):
            continue
        if isinstance(stmt.value, syntax.Shape) and counts[stmt.target.name] == 1:
            found.setdefault((stmt.value.array, stmt.value.dim), stmt.target.name)
    return found


def _count_assignments(body: tuple[syntax.Stmt, ...], counts: dict[str, int]) -> None:
    """Adds the assignments to each local scalar in a body to `counts`."""
    for stmt in body:
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            counts[stmt.target.name] = counts.get(stmt.target.name, 0) + 1
        elif isinstance(stmt, syntax.For):
            counts[stmt.var] = counts.get(stmt.var, 0) + 1
        for inner in traversal.bodies(stmt):
            _count_assignments(inner, counts)
