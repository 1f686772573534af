"""Guesses, from a kernel's text alone, which names are arrays and how many dimensions they have."""

from __future__ import annotations

from dataclasses import dataclass, field

from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.frontend.traversal import expressions, nodes, operands

_ROUNDS = 4  # of statements that give ranks to each other
_OF_NUMBERS = frozenset({"array", "where", "number", "full_like", "isclose"})  # functions whose first argument may well be a number
_CHANGE_RANK = frozenset({"reshape", "outer", "take", "diag", "concatenate", "stack", "hstack", "vstack", "tile", "tensordot"})


def guessed_ranks(kernel: syntax.Kernel) -> dict[str, tuple[int, str]]:
    """Returns {name: (dimensions, how the text shows it)} for the names that the kernel uses as arrays.

    A subscript of one index per dimension and the subscripts of an einsum say how many there are; slices, `.shape[1]`, axes and the
    arrays with which a name is added or assigned say how many there are at least.
    """
    found = _Ranks()
    every = tuple(statements(kernel.body))
    for statement in every:
        found.look_at(statement)
    for _ in range(_ROUNDS):
        for statement in every:
            found.compare(statement)
    return {name: (rank, found.how[name]) for name, rank in found.ranks.items()}


@dataclass
class _Ranks:
    """ranks: the dimensions that each name has at least. certain: the names that have just as many. how: the reason for each."""

    ranks: dict[str, int] = field(default_factory=dict)
    certain: set[str] = field(default_factory=set)
    how: dict[str, str] = field(default_factory=dict)

    def note(self, expr: syntax.Expr, rank: int, how: str, certain: bool = False) -> None:
        name = _name(expr)
        known = 0 if name is None else self.ranks.get(name, 0)
        if name is None or rank < known or (rank == known and not certain) or (name in self.certain and not certain):
            return
        self.ranks[name], self.how[name] = rank, how
        if certain:
            self.certain.add(name)

    def look_at(self, statement: syntax.Stmt) -> None:
        """What each name's own uses in the statement say."""
        outer = [*expressions(statement)]
        if isinstance(statement, syntax.Assign) and not isinstance(statement.target, syntax.Name):
            outer.append(statement.target)
        for expr in outer:
            for node in nodes(expr):
                self._look_at(node)

    def _look_at(self, node: syntax.Expr) -> None:
        match node:
            case syntax.Subscript(array=array, indices=indices):
                count = len(indices)
                self.note(
                    syntax.Name(array), count, f"subscripted with {count} {'index' if count == 1 else 'indices'}", certain=True
                )
            case syntax.Shape(array=array, dim=dim, ndim=ndim):
                self.note(syntax.Name(array), max(ndim or 0, dim + 1, -dim), "its shape is used", certain=ndim is not None)
            case syntax.Part(base=base, indices=indices):
                if count := sum(not isinstance(i, (syntax.NewAxis, syntax.Dots)) for i in indices):
                    self.note(base, count, "it is sliced")
            case syntax.Like(array=array):
                self.note(syntax.Name(array), 1, "an array like it is made")
            case syntax.Function():
                self._look_at_function(node)

    def _look_at_function(self, node: syntax.Function) -> None:
        options = dict(node.options)
        if node.function == "einsum":
            for arg, letters in zip(node.args, _letters(options.get("subscripts"))[0]):
                self.note(arg, len(letters.replace("...", "")), "an operand of einsum", certain="..." not in letters)
        elif node.function == "matmul":
            for arg in node.args:
                self.note(arg, 2, "an operand of @")
        elif node.args and node.function not in _OF_NUMBERS:
            least = 2 if node.function in ("transpose", "swapaxes", "trace") else 1
            for axis in _axes(options.get("axis")):
                least = max(least, axis + 1, -axis)
            self.note(node.args[0], least, f"an argument of {node.function}")

    def compare(self, statement: syntax.Stmt) -> None:
        """What the two sides of an assignment say of each other."""
        if isinstance(statement, syntax.Alloc) and isinstance(statement.shape, syntax.Like):
            self._equal(syntax.Name(statement.name), syntax.Name(statement.shape.array))
        if not isinstance(statement, syntax.Assign):
            return
        target = statement.target
        if isinstance(target, syntax.Name):
            self._equal(target, statement.value)
        elif isinstance(target, syntax.Part) and target.indices == (syntax.Slice(None, None),):
            self._equal(target.base, statement.value)  # A[:] = ...

    def _equal(self, target: syntax.Expr, value: syntax.Expr) -> None:
        """Both sides have as many dimensions: those of the target, and of the arrays that the value joins element by element."""
        if rank := self._rank(value):
            self.note(target, rank, "assigned an array")
        name = _name(target)
        if name in self.ranks and name in self.certain:
            for operand in _joined(value):
                if _name(operand) in self.ranks:
                    self.note(operand, self.ranks[name], f"assigned to {name}")

    def _rank(self, expr: syntax.Expr) -> int:
        match expr:
            case syntax.Name(name=name) | syntax.ArrayName(name=name):
                return self.ranks.get(name, 0)
            case syntax.Part(base=base, indices=indices):
                taken = sum(not isinstance(i, (syntax.Slice, syntax.NewAxis, syntax.Dots)) for i in indices)
                return max(0, self._rank(base) - taken + sum(isinstance(i, syntax.NewAxis) for i in indices))
            case syntax.Function():
                return self._rank_of_function(expr)
        return max((self._rank(each) for each in _joined(expr)), default=0)

    def _rank_of_function(self, node: syntax.Function) -> int:
        options, ranks = dict(node.options), [self._rank(each) for each in node.args]
        if node.function == "einsum":
            return len((_letters(options.get("subscripts"))[1]).replace("...", ""))
        if node.function == "matmul":
            return max(0, sum(min(rank, 2) for rank in ranks) - 2)
        if node.function in _CHANGE_RANK:
            return 0  # not known
        if "axis" in options or "keepdims" in options:
            lost = len(_axes(options.get("axis"))) or max(ranks, default=0)
            return max(ranks, default=0) - (0 if options.get("keepdims") or "cum" in node.function else lost)
        return max(ranks, default=0) if node.function in ("transpose", "copy", "clip", "where", "astype", "number") else 0


def _joined(expr: syntax.Expr) -> tuple[syntax.Expr, ...]:
    """The expressions whose elements an elementwise one joins, down to names, parts and functions of arrays."""
    if isinstance(expr, (syntax.Name, syntax.ArrayName, syntax.Part, syntax.Function)):
        return (expr,)
    if isinstance(expr, (syntax.Subscript, syntax.Const, syntax.Shape)):
        return ()
    return tuple(each for operand in operands(expr) for each in _joined(operand))


def _name(expr: syntax.Expr) -> str | None:
    return expr.name if isinstance(expr, (syntax.Name, syntax.ArrayName)) else None


def _axes(given: object) -> tuple[int, ...]:
    if isinstance(given, int):
        return (given,)
    return tuple(axis for axis in given if isinstance(axis, int)) if isinstance(given, tuple) else ()


def _letters(subscripts: object) -> tuple[list[str], str]:
    """The subscripts of each operand of an einsum, and of its result where they are given."""
    operands_, _, result = str(subscripts).replace(" ", "").partition("->")
    return operands_.split(","), result
