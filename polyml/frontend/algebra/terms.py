"""Array expressions as terms of the e-graph and back, with what is known of each operation's value, and its price.

    A @ B @ x   ->   @(@(0, 1), 2) over the leaves A, B, x

The price of an operation is in cycles of one core, roughly: 8 multiply-additions a cycle, and 8 bytes of operands and results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from polyml.frontend import syntax, traversal
from polyml.frontend.algebra.egraph import Leaf, Price, Term
from polyml.frontend.algebra.facts import Fact, Facts, of_function
from polyml.frontend.arrays.shapes import Linear
from polyml.frontend.syntax import Expr
from polyml.source import Loc

OPERATIONS_PER_CYCLE, BYTES_PER_CYCLE = 8, 8
_AXES = {"sum": None, "sum0": 0, "sum1": 1}
_ELEMENTWISE = ("+", "-", "*", "/")
_UNKNOWN_BYTES = 8  # of an element whose type is not known


@dataclass
class Leaves:
    """Leaves are the parts of an expression that no rule looks into.

    exprs: the parts; equal ones are there once.
    """

    exprs: list[Expr] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def term(self, expr: Expr) -> Term:
        """Returns a part as a leaf."""
        place = self._places.setdefault(repr(expr), len(self.exprs))  # 1 == 1.0 == True, but their texts are three
        if place == len(self.exprs):
            self.exprs.append(expr)
        return Term(Leaf(place))


def term_of(expr: Expr, facts: Facts, leaves: Leaves) -> Term:
    """Returns an expression as a term over `leaves`, to which its parts are added."""
    op = _operation(expr, facts)
    if op is None:
        return leaves.term(expr)
    return Term(op, tuple(term_of(each, facts, leaves) for each in traversal.operands(expr)))


def _operation(expr: Expr, facts: Facts) -> str | None:
    """Returns the operation of an expression, or None where rules do not know it."""
    if isinstance(expr, (syntax.Binary, syntax.Unary)):
        op = "neg" if isinstance(expr, syntax.Unary) and expr.op == "-" else expr.op
        return op if op in (*_ELEMENTWISE, "neg") and facts.fact(expr) is not None else None
    if not isinstance(expr, syntax.Function):
        return None
    given = [facts.fact(arg) for arg in expr.args]
    known = [each for each in given if each is not None]
    if len(known) < len(given) or of_function(expr, known) is None:
        return None
    if expr.function in ("matmul", "dot"):
        return "@"
    if expr.function == "transpose" and known[0].rank == 2:
        return "T"
    if expr.function == "sum" and known[0].rank <= 2:
        axis = dict(expr.options).get("axis")
        return f"sum{axis % 2}" if isinstance(axis, int) and known[0].rank == 2 else "sum"
    return expr.function if expr.function in ("outer", "trace", "diagonal") else None


def written(term: Term, leaves: Leaves, loc: Loc | None) -> Expr:
    """Returns a term as an expression of the language.

    loc: the place in the source that the whole has.
    """
    if isinstance(term.op, Leaf):
        return leaves.exprs[int(term.op.name)]
    args = tuple(written(arg, leaves, loc) for arg in term.args)
    if term.op in _ELEMENTWISE:
        return syntax.Binary(term.op, *args, loc=loc)
    if term.op == "neg":
        return syntax.Unary("-", *args, loc=loc)
    return _call(term.op, args, loc)


def _call(op: str, args: Sequence[Expr], loc: Loc | None) -> syntax.Function:
    if op in _AXES:
        axis = _AXES[op]
        return syntax.Function("sum", tuple(args), () if axis is None else (("axis", axis),), loc=loc)
    return syntax.Function({"@": "matmul", "T": "transpose"}.get(op, op), tuple(args), loc=loc)


def fact_of(op: str, given: Sequence[Fact]) -> Fact | None:
    """Returns what is known of an operation's value; None where its operands do not allow it."""
    names = [syntax.Name(f"_{k}") for k in range(len(given))]
    if op in ("sum0", "sum1") and given[0].rank != 2 or op == "T" and given[0].rank != 2:
        return None
    facts = Facts({name.name: fact for name, fact in zip(names, given)})
    made: Expr
    if op in _ELEMENTWISE:
        made = syntax.Binary(op, names[0], names[1])
    else:
        made = syntax.Unary("-", names[0]) if op == "neg" else _call(op, names, None)
    return facts.fact(made)


def price(size: Callable[[Linear], int]) -> Price:
    """Returns the function that prices one operation in a call.

    size: gives about how large a size is in the call.
    """

    known: dict[Linear, int] = {}

    def elements(fact: Fact) -> float:
        count = 1.0
        for extent in fact.shape:
            if extent not in known:
                known[extent] = max(size(extent), 0)
            count *= known[extent]
        return count

    def moved(fact: Fact) -> float:
        return elements(fact) * (fact.dtype.size_bytes if fact.dtype else _UNKNOWN_BYTES) if fact.rank else 0.0

    def priced(op: str, result: Fact, args: list[Fact], are_leaves: list[bool]) -> float:
        if op == "T":  # of what is in memory it is a view
            return 0.0 if are_leaves[0] else moved(result) / BYTES_PER_CYCLE
        operations = elements(args[0])
        if op == "@":
            operations *= elements(Fact(args[1].shape[1:], None))
        elif op in (*_ELEMENTWISE, "outer"):
            operations = elements(result)
        elif op in ("trace", "diagonal"):
            operations = elements(Fact(args[0].shape[:1], None))
        through = moved(result) + (moved(result) if op in ("trace", "diagonal") else sum(map(moved, args)))
        return operations / OPERATIONS_PER_CYCLE + through / BYTES_PER_CYCLE

    return priced


def text(term: Term, leaf: Callable[[int], str], binding: int = 0) -> str:
    """Returns a term as Python text.

    leaf: gives the text of a leaf by its number.
    binding: how tightly what is around it binds; a term that binds less is put in parentheses.
    """
    if isinstance(term.op, Leaf):
        return leaf(int(term.op.name))
    if term.op == "T":
        return f"{text(term.args[0], leaf, 4)}.T"
    if term.op == "neg":
        return _enclosed(f"-{text(term.args[0], leaf, 3)}", 3, binding)
    if term.op in ("+", "-", "*", "/", "@"):
        own = 1 if term.op in "+-" else 2
        left, right = text(term.args[0], leaf, own), text(term.args[1], leaf, own + 1)
        return _enclosed(f"{left} {term.op} {right}", own, binding)
    inside = ", ".join(text(arg, leaf) for arg in term.args)
    axis = _AXES.get(term.op)
    return f"np.{'sum' if term.op in _AXES else term.op}({inside}{'' if axis is None else f', axis={axis}'})"


def _enclosed(shown: str, own: int, binding: int) -> str:
    return f"({shown})" if own < binding else shown
