"""If-conversion: the assignments in the branches of an `if` on data become selects on the stored condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from polyml.dtypes import DType
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.model.core.nest import Assign, Read, Truth, Value, map_leaves
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Condition

_CHEAP = ("abs", "fabs", "isinf", "isnan", "isfinite", "minimum", "maximum", "sqrt")


def joined(
    test: Value,
    otherwise: Value,
    then: tuple[Assign, ...],
    orelse: tuple[Assign, ...],
    rename: Callable[[str], str | None],
) -> tuple[Assign, ...]:
    """Returns both branches of an `if` as straight-line code; a scalar assigned in both does not depend on its old value.

    Each branch has names of its own for its scalars, and one select follows both:

            if c: t = a      ->     t_1 = a if c else 0
            else: t = b             t_2 = 0 if c else b
                                    t   = t_1 if c else t_2

    A sum or another update that nothing else in the branches assigns or reads stays as it is, t = t + a if c else t.

    test, otherwise: the stored condition of the first branch, and that of the second one, which is its negation
    then, orelse: the assignments of the branches
    rename: returns a new scalar for a local one, None for an array or scalar that has to stay
    """
    updated = _updated((*then, *orelse))
    then_renamed, then_names = _renamed(then, test, rename, updated)
    else_renamed, else_names = _renamed(orelse, otherwise, rename, updated)
    types = {a.array: a.value.dtype for a in (*then, *orelse)}
    joins = []
    for name in dict.fromkeys((*then_names, *else_names)):
        a, b = (Read(names.get(name, name), (), dtype=types[name]) for names in (then_names, else_names))
        joins.append(Assign(name, (), select(test, a, b), True, None))
    return (*_merged_stores(test, then_renamed, else_renamed), *joins)


def flag(name: str) -> Condition:
    """Returns the affine condition that the truth argument `name` (0 or 1) is true."""
    return af.non_negative(af.variable(name) - 1)


def select(condition: Value, then: Value, orelse: Value) -> syntax.IfExp:
    """Returns the value `then if condition else orelse`, with the branches exchanged where the condition is a negation."""
    if isinstance(condition, syntax.Unary) and condition.op == "not":
        condition, then, orelse = condition.operand, orelse, then
    return syntax.IfExp(condition, then, orelse, dtype=then.dtype)


def zero(dtype: DType) -> syntax.Const:
    """Returns the zero of a type, for a value that nothing reads."""
    return syntax.Const({"f": 0.0, "b": False}.get(dtype.kind, 0), dtype=dtype)


def reads(value: Value, scalar: str) -> bool:
    """Returns whether a value is made of a scalar, as the new value of a sum is of the old one."""
    return any(isinstance(node, Read) and node.array == scalar for node in traversal.nodes(value))


def chooses_numbers(formula: Condition, stmt: syntax.If, iterators: Collection[str]) -> bool:
    """Returns whether an `if` chooses one of several numbers, by arguments and sizes alone: under a condition on data it is a select, so
    that what becomes of the numbers is one expression in each iteration. Its branches assign numbers that are made of numbers at little
    cost, without elements, which only one of them may have.

    formula: its condition
    iterators: those of the loops around it
    """
    if not formula.names.isdisjoint(iterators):
        return False
    for inner in statements((*stmt.then, *stmt.orelse)):
        if (
            not isinstance(inner, (syntax.Assign, syntax.If))
            or isinstance(inner, syntax.Assign)
            and not isinstance(inner.target, syntax.Name)
        ):
            return False
        parts = (node for expr in traversal.accessed(inner) for node in traversal.nodes(expr))
        if any(isinstance(node, syntax.Subscript) or not _is_cheap(node) for node in parts):
            return False
    return True


def _is_cheap(node: syntax.Expr) -> bool:
    """Returns whether an operation takes few instructions, and raises nothing."""
    if isinstance(node, syntax.Call):
        return node.function in _CHEAP
    return not (isinstance(node, syntax.Binary) and node.op in ("**", "//", "%"))


def leading_truths(test: Value) -> tuple[Condition | None, Value, str]:
    """Returns the parts of a condition `affine and data` or `affine or data`: (the affine part, the rest, "and" or "or").

    The result is (None, test, "") where the condition does not begin with an affine one.
    """
    if not isinstance(test, syntax.Logical) or not isinstance(test.operands[0], Truth):
        return None, test, ""
    leading: list[Condition] = []
    for operand in test.operands:
        if not isinstance(operand, Truth):
            break
        leading.append(operand.formula)
    rest = test.operands[len(leading) :]
    combine = af.conjunction if test.op == "and" else af.disjunction
    known = combine(*leading)
    return known, rest[0] if len(rest) == 1 else syntax.Logical(test.op, rest, dtype=test.dtype, loc=test.loc), test.op


def _updated(both: tuple[Assign, ...]) -> frozenset[str]:
    """Returns the numbers that one assignment of two branches makes of themselves, while no other one assigns or reads them."""
    assigned, read = Counter(each.array for each in both), Counter(name for each in both for name in each.read_names)
    numbers = (each.array for each in both if each.may and not each.subscripts and reads(_new_value(each), each.array))
    return frozenset(name for name in numbers if assigned[name] == read[name] == 1)


def _new_value(assign: Assign) -> Value:
    """Returns what a select stores that otherwise keeps the element."""
    value = assign.value
    if not isinstance(value, syntax.IfExp):
        return value
    return value.then if _is_element(value.orelse, assign) else value.orelse


def _renamed(
    branch: tuple[Assign, ...], predicate: Value, rename: Callable[[str], str | None], kept: frozenset[str]
) -> tuple[list[Assign], dict[str, str]]:
    """Returns the assignments of one branch with new names for its scalars, and the last of the new names of each scalar.

    predicate: the condition of the branch
    rename: returns a new scalar for a local one, None for an array or scalar that has to stay
    kept: scalars that keep their names
    """
    current: dict[str, str] = {}
    result = []
    for assign in branch:
        value, own = assign.value, rename(assign.array) if assign.may and assign.array not in kept else None
        if own is not None:
            value = _without_old(value, assign.array, predicate)
        value = map_leaves(value, lambda v: _renamed_read(v, current))
        if own is not None:
            current[assign.array] = own
        result.append(replace(assign, array=own or assign.array, value=value))
    return result, current


def _merged_stores(test: Value, then: list[Assign], orelse: list[Assign]) -> list[Assign]:
    """Returns the assignments of both branches one after the other, with pairs of stores to the same elements as single stores.

    B[i] = a if c else B[i]      ->      B[i] = a if c else b
    B[i] = B[i] if c else b

    Where a store to an array in one branch has no such partner in the other, no pair is joined.
    """
    pairs = list(zip([a for a in then if a.subscripts], [a for a in orelse if a.subscripts]))
    same = len(pairs) == sum(1 for a in (*then, *orelse) if a.subscripts) / 2
    merged = [one for a, b in pairs if (one := _merged_pair(test, a, b)) is not None]
    if not same or len(merged) < len(pairs):
        return [*then, *orelse]
    result: list[Assign] = []
    then_rest, else_rest = iter(then), iter(orelse)
    for (a, b), one in zip(pairs, merged):
        result.extend(_until(then_rest, a))
        result.extend(_until(else_rest, b))
        result.append(one)
    return [*result, *then_rest, *else_rest]


def _merged_pair(test: Value, a: Assign, b: Assign) -> Assign | None:
    """Returns one store in place of two to the same element, `a` where `test` holds and `b` where it does not; else None."""
    if (a.array, a.subscripts) != (b.array, b.subscripts):
        return None
    first, second = a.value, b.value
    if not (isinstance(first, syntax.IfExp) and isinstance(second, syntax.IfExp)):
        return None
    if first.condition != test or second.condition != test or not (_is_element(first.orelse, a) and _is_element(second.then, b)):
        return None
    return replace(a, value=syntax.IfExp(test, first.then, second.orelse, dtype=first.dtype), may=False)


def _is_element(value: Value, assign: Assign) -> bool:
    """Returns whether a value is a read of the element that is assigned."""
    return isinstance(value, Read) and (value.array, value.subscripts) == (assign.array, assign.subscripts)


def _until(assigns: Iterator[Assign], last: Assign) -> Iterator[Assign]:
    """Yields the assignments of an iterator before `last`, and takes `last` from it too."""
    for assign in assigns:
        if assign is last:
            return
        yield assign


def _without_old(value: Value, scalar: str, predicate: Value) -> Value:
    """Returns a select `v if predicate else scalar` with zero in place of the scalar, which is read only where the predicate holds.

    Any other value is returned unchanged, and so is one where v is made of the scalar: that is an update, of a sum for example.
    """
    if not isinstance(value, syntax.IfExp):
        return value
    bare = select(predicate, value.then, value.orelse)
    is_flipped = bare.condition is not predicate
    if value.condition != bare.condition:
        return value
    old = value.then if is_flipped else value.orelse
    new = value.orelse if is_flipped else value.then
    if not (isinstance(old, Read) and old.array == scalar) or reads(new, scalar):
        return value
    return replace(value, then=zero(old.dtype)) if is_flipped else replace(value, orelse=zero(old.dtype))


def _renamed_read(value: Value, current: dict[str, str]) -> Value:
    if isinstance(value, Read) and value.array in current:
        return Read(current[value.array], (), dtype=value.dtype, loc=value.loc)
    return value
