"""Values of a nest, whose affine parts are leaves, from typed expressions.

Local integers with an affine value are followed forward: after `m = n - i - 1`, A[m] reads A[n - i - 1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Union

from polyml.dtypes import BOOL, I64, PYINT
from polyml.errors import NotAffineError, SizesNeeded
from polyml.frontend import syntax, traversal
from polyml.model.core.nest import Integer, Read, Requirement, Truth, Value, children, with_children
from polyml.model.core.scop import Gather
from polyml.model.lowering.affine_folding import CHOICES, QUOTIENTS, folded, is_exact, is_small, known
from polyml.model.lowering.arithmetic.half_arithmetic import widened
from polyml.model.lowering.declarations import Declarations
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine, Condition
from polyml.source import Loc

BOUND_NOTE = "polyml needs bounds of the form c0 + c1*i + c2*N with integer c, and min, max, // and % of such"
_SUBSCRIPT_NOTE = "polyml needs subscripts of the form c0 + c1*i + c2*j with integer c"
_SIMPLE_NOTE = f"one expression may have {QUOTIENTS} different // and %, and {CHOICES} different min, max, abs and conditions"
_GATHER_NOTE = "or subscripts that are elements of integer arguments, of an argument; the kernel changes neither"


class Stale(Enum):
    """Stale has one member, STALE. It stands for a loop variable after its loop, which has no value if the loop did not run."""

    STALE = "stale"


Known = Union[
    Affine, Condition, Read, Stale
]  # what a local number equals; a Read: an element of an index array that does not change


class ValueResolver:
    """A ValueResolver turns typed expressions into values of a nest, by what is known of local numbers at the current statement.

    unchanged: the arguments that the kernel does not write, by the user's names
    env: what each local number equals at the statement that is reached; None where nothing is known
    contents: by (index array, size of the dimension that it indexes), the condition that all its elements are valid subscripts
    require: adds a condition, with what is so where it does not hold, to what is tested at entry
    """

    def __init__(
        self, declared: Declarations, unchanged: frozenset[str], require: Callable[[Condition, str, Loc | None], None]
    ) -> None:
        self._declared, self._unchanged, self._require = declared, unchanged, require
        self.env: dict[str, Known | None] = {}
        self.contents: dict[tuple[str, Affine], Requirement] = {}
        self._products: set[str] = set()  # local numbers that would be affine if the numbers of the call were known

    def value(self, expr: syntax.Expr) -> Value:
        """Returns the value of an expression, in which affine parts are Integer and Truth leaves."""
        if isinstance(expr, syntax.Const):
            return _constant(expr)
        if isinstance(expr, syntax.Name):
            return self._name(expr)
        if isinstance(expr, syntax.Shape):
            return Integer(self._declared.size(expr.array, expr.dim), dtype=expr.dtype)
        if isinstance(expr, syntax.Subscript):
            return self._read(expr)
        if isinstance(expr, syntax.Call) and expr.function in ("position", "bound"):
            what = "a subscript is" if expr.function == "position" else "whether a name has a value is"
            raise NotAffineError(f"{what} tested as the program runs", loc=expr.loc, notes=[BOUND_NOTE], code="PML-F030")
        operands = tuple(self.value(child) for child in children(expr))
        if isinstance(expr, syntax.Binary) and expr.dtype == PYINT and expr.op in ("//", "%", "<<", ">>"):
            self._require_result(expr, operands[1])
        return folded(expr, operands) or widened(with_children(expr, operands))

    def _require_result(self, expr: syntax.Binary, operand: Value) -> None:
        """Requires the right operand of a quotient or shift of Python ints to be one for which Python has a result.

        Raises NotAffineError where data decide that: regions test it where it is computed.
        """
        is_shift = expr.op in ("<<", ">>")
        if isinstance(operand, Integer):
            formula = af.compare(">=" if is_shift else "!=", operand.affine, Affine(0))
            self._require(formula, f"a call that raises {'ValueError' if is_shift else 'ZeroDivisionError'}", expr.loc)
        elif not isinstance(operand, syntax.Const):
            what = "shifts by a count that may be negative" if is_shift else "divides by a number that may be zero"
            notes = ["polyml compiles: NumPy's integers, such as np.int64(x), or a constant"]
            raise NotAffineError(f"a Python int {what}", loc=expr.loc, notes=notes, code="PML-F030")

    def truth(self, expr: syntax.Expr) -> Value:
        """Returns the value of a condition: a Truth where it is affine, else a value of a truth type."""
        value = self.value(expr)
        if isinstance(value, Integer):
            return Truth(af.compare("!=", value.affine, Affine(0)), dtype=BOOL)
        if value.dtype.kind == "b":
            return value
        return syntax.Cast(value, BOOL, True, dtype=BOOL, loc=expr.loc)

    def assigned(self, target: syntax.Name, expr: syntax.Expr, value: Value) -> None:
        """Records in `env` what a local number equals after an assignment.

        expr: the assigned expression
        value: the value of `expr`
        """
        found: Known | None = known(value)
        if found is None:
            found = self._unchanged_index(value)
        dtype = self._declared.scalar_types.get(target.name, value.dtype)
        self.env[target.name] = found if value.dtype == dtype else None
        if not isinstance(value, Integer) and value.dtype == PYINT and self._call_knows_a_factor(expr):
            self._products.add(target.name)

    def is_stale(self, name: str) -> bool:
        """Returns whether a name is a loop variable whose loop has ended."""
        return self.env.get(name) is Stale.STALE

    def _name(self, expr: syntax.Name) -> Value:
        """Returns what a name stands for at the point reached. Raises NotAffineError for a loop variable whose loop has ended."""
        here = self.env.get(expr.name)
        if here is Stale.STALE:
            raise NotAffineError(
                f"`{expr.name}` is read after its loop, where its value depends on whether the loop ran",
                loc=expr.loc,
                notes=["assign it to another variable inside the loop"],
                code="PML-F030",
            )
        if isinstance(here, Affine):
            return Integer(here, dtype=expr.dtype)
        if isinstance(here, Read):
            return here if here.dtype == expr.dtype else syntax.Cast(here, expr.dtype, True, dtype=expr.dtype, loc=expr.loc)
        if here is not None:
            return Truth(here, dtype=expr.dtype)
        declared = self._declared
        if expr.name in declared.argument_names and expr.name not in declared.scalar_names:
            return declared.argument(expr.name, expr.dtype)
        array = declared.scalar(expr.name, declared.scalar_types.get(expr.name, expr.dtype))
        return Read(array, (), dtype=expr.dtype, loc=expr.loc)

    def _read(self, expr: syntax.Subscript) -> Read | Gather:
        """Returns an array element: a Read at affine subscripts, a Gather where some subscripts are elements of index arrays."""
        self._check_memory(expr)
        indices = [self.value(index) for index in expr.indices]
        data = [None if isinstance(index, Integer) else self._unchanged_index(index) for index in indices]
        if not any(data) or expr.array not in self._unchanged:
            array, subscripts = self.element(expr)
            return Read(array, subscripts, dtype=expr.dtype, loc=expr.loc, inside=expr.inside)
        array = self._declared.array_names[expr.array]
        made: list[Value] = []
        for dim, (index, read) in enumerate(zip(indices, data)):
            size = self._declared.arrays[array].shape[dim]
            made.append(index if read is None else self._index_in(read, size, expr))
            if read is None:
                self._subscript(expr.indices[dim])
        return Gather(array, tuple(made), dtype=expr.dtype, loc=expr.loc, inside=expr.inside)

    def _unchanged_index(self, value: Value) -> Read | None:
        """Returns the read that a value is, where it reads an integer array that the kernel does not write, else None."""
        read = _index_read(value)
        return read if read is not None and self._declared.arrays[read.array].source_name in self._unchanged else None

    def _index_in(self, read: Read, size: Affine, expr: syntax.Subscript) -> Value:
        """Returns the subscript that an element of an index array is: the element, plus the size where it is negative.

        That all elements of the index array are valid subscripts becomes a condition in `contents`.

        read: the element of the index array
        size: the size of the dimension that it indexes, of the array in `expr`
        """
        name = self._declared.arrays[read.array].source_name
        if (name, size) not in self.contents:
            least, greatest = (self._declared.extreme(name, extreme) for extreme in ("min", "max"))
            inside = af.conjunction(af.compare("<", greatest, size), af.compare(">=", least, -size))
            what = f"an element of `{name}` that is no index of `{expr.array}`"
            self.contents[name, size] = Requirement((), inside, what, expr.loc)
        index: Value = read if read.dtype == I64 else syntax.Cast(read, I64, True, dtype=I64)
        from_end = syntax.Binary("+", index, Integer(size, dtype=I64), dtype=I64)
        return syntax.IfExp(syntax.Compare("<", index, Integer(Affine(0), dtype=I64), dtype=BOOL), from_end, index, dtype=I64)

    def element(self, expr: syntax.Subscript) -> tuple[str, tuple[Affine, ...]]:
        """Returns the name of the array and the affine subscripts of an element. Raises NotAffineError for other subscripts."""
        self._check_memory(expr)
        return self._declared.array_names[expr.array], tuple(self._subscript(index) for index in expr.indices)

    def _check_memory(self, expr: syntax.Subscript) -> None:
        """Raises NotAffineError for an element of an array whose size data decide."""
        if self._declared.arrays[self._declared.array_names[expr.array]].address:
            raise NotAffineError("an array whose size data decide", loc=expr.loc, code="PML-F030")

    def bound(self, expr: syntax.Expr) -> Affine:
        """Returns a loop bound as an affine expression. Raises NotAffineError where it is not affine."""
        return self._affine(expr, "loop bound", "the loop variables and sizes", BOUND_NOTE)

    def size(self, expr: syntax.Expr, iterators: tuple[str, ...]) -> Affine:
        """Returns an array's size in one dimension. Raises NotAffineError where it is not affine in the parameters alone.

        iterators: those of the loops around the allocation
        """
        value = self._affine(expr, "array size", "the sizes", BOUND_NOTE)
        if value.names.isdisjoint(iterators):
            return value
        raise NotAffineError(
            f"array size `{expr.loc.text if expr.loc else value}` changes with the loop",
            loc=expr.loc,
            notes=["polyml allocates arrays whose sizes stay the same; allocate the largest one before the loop"],
            code="PML-F030",
        )

    def _subscript(self, expr: syntax.Expr) -> Affine:
        return self._affine(expr, "subscript", "the loop variables", _SUBSCRIPT_NOTE)

    def _affine(self, expr: syntax.Expr, what: str, of: str, note: str) -> Affine:
        """Returns an expression as an affine integer.

        Raises SizesNeeded where it is affine only once the call's sizes are numbers, NotAffineError where it is not even then.

        what, of, note: for the message: what the expression is, what it should be affine in, and a hint
        """
        value = self.value(expr)
        if isinstance(value, Integer) and is_small(value.affine):
            return value.affine
        text = f" `{expr.loc.text}`" if expr.loc else ""
        reads = any(isinstance(node, syntax.Subscript) for node in traversal.nodes(expr))
        kind = SizesNeeded if self._call_knows_a_factor(expr) else NotAffineError
        notes = [
            note,
            *([_GATHER_NOTE] if reads and what == "subscript" else []),
            *([_SIMPLE_NOTE] if _has_many_cases(expr) else []),
            *_narrow_notes(expr),
        ]
        code = "PML-F031" if reads else "PML-F030"
        raise kind(f"{what}{text} is not affine in {of}", loc=expr.loc, notes=notes, code=code)

    def _call_knows_a_factor(self, expr: syntax.Expr) -> bool:
        """Returns whether a size or number of the call is a factor in an expression, as n is in i*n + j: given n, it is affine."""
        others = {name for name, t in self._declared.types.items() if isinstance(t, syntax.ScalarType) and t.dtype != PYINT}
        parameters = {name for name, p in self._declared.parameters.items() if p.array or p.argument not in others}
        for node in traversal.nodes(expr):
            if isinstance(node, syntax.Name) and node.name in self._products:
                return True
            if not isinstance(node, syntax.Binary) or node.op not in ("*", "//", "%"):
                continue
            for value in map(self.value, (node.left, node.right) if node.op == "*" else (node.right,)):
                if isinstance(value, Integer) and not value.affine.is_constant and value.affine.names <= parameters:
                    return True
        return False


def _narrow_notes(expr: syntax.Expr) -> Iterator[str]:
    """Yields a note for each number of a type of NumPy's whose arithmetic wraps or rounds where that of loops and subscripts does not."""
    for node in traversal.nodes(expr):
        if isinstance(node, syntax.Name) and node.dtype not in (None, PYINT, I64):
            yield f"{node.name} is {node.dtype}, whose arithmetic differs from that of Python's integers: pass int({node.name})"


def _constant(expr: syntax.Const) -> Value:
    """Returns a constant as an affine leaf where it is an integer or a truth value, else unchanged."""
    value = expr.value
    if is_exact(expr.dtype) and not isinstance(value, bool):
        return Integer(Affine(int(value)), dtype=expr.dtype)
    if expr.dtype.kind == "b":
        return Truth(af.TRUE if value else af.FALSE, dtype=expr.dtype)
    return expr


def _has_many_cases(expr: syntax.Expr) -> bool:
    """Returns whether an expression has more operations that distinguish cases (//, min, select) than an affine one may have."""
    operations = ("//", "%", ">>", "min", "max")
    found = [
        node for node in traversal.nodes(expr)
        if isinstance(node, (syntax.IfExp, syntax.Call)) or isinstance(node, syntax.Binary) and node.op in operations
    ]  # fmt: skip
    return len(found) > min(QUOTIENTS, CHOICES)


def _index_read(index: Value) -> Read | None:
    """Returns the read of an integer array's element that an index is, perhaps below conversions; None for any other."""
    while isinstance(index, syntax.Cast) and index.implicit and index.to.is_integer:
        index = index.operand
    return index if isinstance(index, Read) and index.subscripts and index.dtype.is_integer else None
