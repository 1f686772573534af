"""The types of the elements of lists: those of all that is stored in a list, in whatever order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from polyml.dtypes import F64, I64, PYFLOAT, PYINT, DType
from polyml.errors import PolymlTypeError
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import assigned_names, left, reads_of, statements
from polyml.frontend.types.conversions import TypedValue, widened
from polyml.frontend.types.type_sets import TypeSet, of_type, spelled, storage, union
from polyml.source import Loc


class ListElements:
    """A ListElements holds the types of the elements of a kernel's lists; each pass of inference may add types."""

    def __init__(self, kernel: syntax.Kernel):
        self._overwritten = overwritten_fills(kernel.body)
        self._blended: set[str] = set()  # local numbers that may be elements of a list of several types
        listed = (s for s in statements(kernel.body) if isinstance(s, syntax.Alloc) and isinstance(s.element, syntax.TypeOf))
        self._types: dict[str, TypeSet] = {s.name: {} for s in listed if is_list(s)}

    def __contains__(self, name: str) -> bool:
        return name in self._types

    def snapshot(self) -> tuple[Mapping[str, TypeSet], frozenset[str]]:
        """Returns a copy of what is known of all elements so far."""
        return dict(self._types), frozenset(self._blended)

    def fill(self, name: str, types: TypeSet) -> None:
        """Records that a list is made of values of these types, unless each of them is overwritten before it is read."""
        if name not in self._overwritten:
            self.store(name, types)

    def filled(self, name: str, fill: TypedValue | None) -> syntax.Expr | None:
        """Returns what a list is made of as it is stored; None where each element is overwritten."""
        return None if fill is None or name in self._overwritten else self.stored(name, fill)

    def is_blend(self, value: syntax.Expr, types: TypeSet) -> bool:
        """Returns whether a number may be one of Python's or of NumPy's as an element of a list is, which the path does not decide.

        value: the number before it is typed
        """
        if len({dtype.weak for dtype in types}) < 2:
            return False
        return any(self._is_blended(node) for node in traversal.nodes(value))

    def _is_blended(self, node: syntax.Expr) -> bool:
        if isinstance(node, syntax.Subscript):
            return len({dtype.weak for dtype in self._types.get(node.array, {})}) > 1
        return isinstance(node, syntax.Name) and node.name in self._blended

    def assign(self, name: str, value: syntax.Expr, types: TypeSet) -> None:
        """Records that a value of these types is assigned to a local number."""
        if self.is_blend(value, types):
            self._blended.add(name)

    def store(self, name: str, types: TypeSet) -> None:
        """Records that a value of these types is stored in a list."""
        self._types[name] = union((self._types[name], types))

    def element(self, name: str, is_final: bool, loc: Loc | None) -> DType | None:
        """Returns the type of the array that holds a list's elements; None while nothing is known to be stored in it.

        Raises PolymlTypeError where no type holds all.
        """
        if not self._types[name]:
            return F64 if is_final else None
        found = storage(self._types[name])
        if found is None:
            raise PolymlTypeError(
                f"no one type holds the elements of a list, {spelled(self._types[name])}",
                loc=loc,
                notes=["accepted: numbers of one type"],
            )
        return I64 if found == PYINT else found

    def is_python(self, name: str, loc: Loc | None) -> bool:
        """Returns whether the elements of a list are Python's numbers. Raises PolymlTypeError for numbers of several types."""
        types = self._types[name]
        if len(types) > 1:
            raise PolymlTypeError(
                f"the elements of a list that is returned are {spelled(types)}", loc=loc, notes=["accepted: numbers of one type"]
            )
        return all(dtype.weak for dtype in types)

    def read(self, element: syntax.Subscript) -> TypedValue:
        """Returns an element of a list as a number of the types that it may have. element: typed as one of the array"""
        types = self._types[element.array] or of_type(PYFLOAT)
        if storage(types) == PYINT:
            return TypedValue(syntax.Cast(element, PYINT, True, dtype=PYINT, loc=element.loc), types)
        return TypedValue(element, types)

    def stored(self, name: str, value: TypedValue) -> syntax.Expr:
        """Returns a value as it is stored in the array of a list."""
        types = self._types[name]
        to = storage(types)
        if to is None:
            raise TypeError(f"no type holds {spelled(types)}")
        held = widened(value, to)
        return syntax.Cast(held, I64, True, dtype=I64, loc=held.loc) if to == PYINT else held


def overwritten_fills(body: Sequence[syntax.Stmt]) -> frozenset[str]:
    """Returns the lists `w = [x] * n` of which the next statement that mentions them stores all elements, in loops over all of them."""
    found: set[str] = set()
    for place, stmt in enumerate(body):
        for inner in traversal.bodies(stmt):
            found |= overwritten_fills(inner)
        if isinstance(stmt, syntax.Alloc) and is_list(stmt) and stmt.fill is not None and isinstance(stmt.shape, tuple):
            later = (each for each in body[place + 1 :] if _mentions((each,), stmt.name))
            if _stores_all(next(later, None), stmt.name, stmt.shape, ()):
                found.add(stmt.name)
    allocs = Counter(s.name for s in statements(body) if isinstance(s, syntax.Alloc))
    return frozenset(name for name in found if allocs[name] == 1)


def _stores_all(stmt: syntax.Stmt | None, name: str, shape: tuple[syntax.Expr, ...], point: tuple[syntax.Expr, ...]) -> bool:
    """Returns whether a loop stores all elements of a list, of each of which it reads nothing before.

    shape: the sizes of the dimensions that have no loop yet
    point: the numbers of the loops around
    """
    if not shape:
        is_store = isinstance(stmt, syntax.Assign) and stmt.target == syntax.Subscript(name, point)
        return is_store and isinstance(stmt, syntax.Assign) and name not in map(traversal.name_of, traversal.nodes(stmt.value))
    if not isinstance(stmt, syntax.For) or stmt.step != 1 or stmt.start != syntax.Const(0) or left((stmt,)):
        return False
    if stmt.stop != shape[0] and syntax.Binary("max", stmt.stop, syntax.Const(0)) != shape[0]:
        return False
    first = next((each for each in stmt.body if _mentions((each,), name)), None)
    return stmt.var not in assigned_names(stmt.body) and _stores_all(first, name, shape[1:], (*point, syntax.Name(stmt.var)))


def _mentions(body: Sequence[syntax.Stmt], name: str) -> bool:
    return reads_of(body)[name] > 0


def is_list(stmt: syntax.Alloc) -> bool:
    """Returns whether an allocation is that of a list of Python's."""
    return isinstance(stmt.element, syntax.TypeOf) and stmt.element.function == "listed"


def place(typed: syntax.Expr) -> syntax.Subscript:
    """Returns the element of an array that a typed element of a list is."""
    inner = typed.operand if isinstance(typed, syntax.Cast) else typed
    if not isinstance(inner, syntax.Subscript):
        raise TypeError(f"not an element: {typed!r}")
    return inner
