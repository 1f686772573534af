"""Python's expressions, turned into those of `syntax`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum

from polyml.dtypes import PYBOOL
from polyml.frontend import syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant, large_integer
from polyml.frontend.library.whole_arrays import marks
from polyml.frontend.parsing import array_signatures
from polyml.frontend.parsing.functions.inner_functions import parameters, stores
from polyml.frontend.parsing.names import is_number, spelled
from polyml.frontend.parsing.sequences import array_tuples
from polyml.frontend.parsing.sequences.tuple_parser import TupleParser
from polyml.frontend.parsing.sequences.values import LISTS, SEQUENCES, AnyList, ShapeOf, Value, leaves, length_of
from polyml.source import Loc

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_ACCEPTED = "numbers, arrays, their elements, arithmetic, comparisons and functions of them"
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class ExpressionParser(TupleParser):
    """An ExpressionParser turns the expressions of one function into those of `syntax`."""

    def expr(self, node: ast.expr) -> syntax.Expr:
        """Returns the expression of `syntax`, a number or an array, for an expression of Python.

        Raises LanguageError if it is something else.
        """
        loc = self.text.loc(node)
        match node:
            case ast.Constant(value=value):
                return self.number(node, value)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                known, found = self.constant(node), self.part_of_tuple(node)
                if known is not MISSING:
                    return self.number(node, known)
                if isinstance(found, SEQUENCES):
                    what = "a list" if isinstance(found, LISTS) else "a tuple"
                    raise self.error(node, f"{what} is neither a number nor an array", _ACCEPTED)
                return self._subscript(node) if found is None else found
            case ast.UnaryOp(op=ast.Not(), operand=operand) if self._truth(operand) is not None:
                return syntax.Const(not self._truth(operand), loc=loc)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return syntax.Unary("not", self.condition(operand), loc=loc)
            case ast.UnaryOp(op=op, operand=operand):
                return _negated(syntax.Unary(_UNARY[type(op)], self.expr(operand), loc=loc))
            case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                return syntax.Function("matmul", (self.expr(left), self.expr(right)), loc=loc)
            case ast.BinOp(op=op, left=left, right=right):
                return large_integer(syntax.Binary(BINARY[type(op)], self.expr(left), self.expr(right), loc=loc))
            case ast.BoolOp():
                return self._logical(node)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self.value_of_call(node)
        raise self.error(node, f"{spelled(node)} is neither a number nor an array", _ACCEPTED)

    def condition(self, node: ast.expr) -> syntax.Expr:
        """Returns the expression for a condition, of which the truth value alone counts."""
        known, loc = self._truth(node), self.text.loc(node)
        if known is not None:
            return syntax.Const(known, loc=loc)
        listed = self.parts(node) if isinstance(node, (ast.Name, ast.Subscript)) else None
        if isinstance(listed, LISTS):
            return syntax.Compare("!=", length_of(listed, loc), syntax.Const(0, loc=loc), loc=loc)
        if isinstance(node, ast.BoolOp) and any(
            isinstance(self.parts(each), LISTS) for each in ast.walk(node) if isinstance(each, ast.Name)
        ):
            return self._logical(node, is_value=False)
        return self.expr(node)

    def _truth(self, node: ast.expr) -> bool | None:
        """Returns the truth value of what is known at parsing and is no number; None for anything else."""
        if isinstance(node, ast.Call) and self.value(node.func) is marks.is_sequence:
            return isinstance(self.parts(node.args[0]), SEQUENCES)
        value = self.constant(node) if isinstance(node, ast.Name) else MISSING
        return bool(value) if value is None or isinstance(value, str | tuple | Enum) else None

    def _name(self, node: ast.Name) -> syntax.Expr:
        if self.is_local(node):
            self.refuse_tuple(node)
            return syntax.Name(self.renamed.get(node.id, node.id), loc=self.text.loc(node))
        value = self.value(node)
        if value is MISSING:
            raise self.error(
                node,
                f"`{node.id}` is not defined",
                "a parameter, a local, or a global or closure value that exists when the kernel is compiled",
            )
        self.refuse_array(node, value)
        return self.number(node, value)

    def _attribute(self, node: ast.Attribute) -> syntax.Expr:
        value = self.value(node)
        if value is MISSING and self.is_computed(node.value):
            if node.attr not in array_signatures.ATTRIBUTES:
                known = ", ".join(f"`A.{name}`" for name in array_signatures.ATTRIBUTES)
                raise self.error(node, f"`.{node.attr}` is not part of the language", f"`A.shape[0]`, `n, m = A.shape`, {known}")
            name = array_signatures.ATTRIBUTES[node.attr]
            return syntax.Function(name, (self.expr(node.value),), loc=self.text.loc(node))
        if value is MISSING:
            raise self.error(
                node,
                f"`{ast.unparse(node)}` is not part of the language",
                "numbers that are attributes of a module, and `A.shape[0]`",
            )
        return self.number(node, value)

    def _subscript(self, node: ast.Subscript) -> syntax.Expr:
        base: ast.expr = node
        groups: list[Sequence[ast.expr]] = []
        while isinstance(base, ast.Subscript):
            groups.append(array_tuples.indices(self, base.slice))
            base = base.value
        if isinstance(base, ast.Attribute) and base.attr == "shape" and len(groups) == 1:
            return self._shape(node, base)
        indices = [i for group in reversed(groups) for i in group]
        if isinstance(base, ast.Name) and not any(map(self._is_part, indices)):
            loc, chained = self.text.loc(node), len(groups) > 1
            return syntax.Subscript(self.array(base), tuple(map(self._number_or_list, indices)), chained=chained, loc=loc)
        return self.part_of_array(self.array_expr(node.value), node)

    def part_of_array(self, base: syntax.Expr, node: ast.Subscript) -> syntax.Expr:
        """Returns the part of an array, or its element, that a subscript means."""
        indices = array_tuples.indices(self, node.slice)
        if isinstance(base, (syntax.Name, syntax.Subscript)) and not any(map(self._is_part, indices)):
            is_part = isinstance(base, syntax.Subscript)
            before = base.indices if isinstance(base, syntax.Subscript) else ()
            name = base.array if isinstance(base, syntax.Subscript) else base.name
            found = tuple(map(self._number_or_list, indices))
            return syntax.Subscript(name, (*before, *found), chained=is_part, loc=self.text.loc(node))
        return syntax.Part(base, tuple(map(self._index, indices)), loc=self.text.loc(node))

    def _index(self, node: ast.expr) -> syntax.Expr | syntax.Slice | syntax.NewAxis | syntax.Dots:
        if isinstance(node, ast.Slice):
            start, stop = (None if bound is None else self.expr(bound) for bound in (node.lower, node.upper))
            by = syntax.Const(1) if node.step is None else self.expr(node.step)
            step = constant(by)
            if type(step) is int and step != 0:
                return syntax.Slice(start, stop, step, loc=self.text.loc(node))
            if step is not MISSING or node.step is None or not self._is_computed_number(node.step):
                raise self.value_needed(node.step or node, "the step of a slice must be a constant that is not zero", "an int")
            return syntax.Slice(start, stop, by=by, loc=self.text.loc(node))
        if self.constant(node) is None:
            return syntax.NewAxis()
        if self.constant(node) is ...:
            return syntax.Dots()
        return self._number_or_list(node)

    def _is_computed_number(self, node: ast.expr) -> bool:
        """Returns whether a number is computed as a call runs, so that the values of the arguments do not tell it."""
        parts = [*ast.walk(node)]
        is_read = any(isinstance(each, (ast.Subscript, ast.Call)) for each in parts)
        given = {each.arg for each in parameters(self.text.tree.args)}
        names = {each.id for each in parts if isinstance(each, ast.Name)}
        return is_read or any(stores(self.text.tree, name) > (name in given) for name in names)

    def _number_or_list(self, node: ast.expr) -> syntax.Expr:
        """Returns an index that is a number or an array, or a list that is written out."""
        mask = array_tuples.mask(self, node)
        if mask is not None:
            return mask
        return self.array_operand(node) if isinstance(node, ast.List) else self.expr(node)

    def _is_part(self, node: ast.expr) -> bool:
        """Returns whether an index is a slice, None or `...`, with which a subscript gives an array and not one element."""
        return isinstance(node, ast.Slice) or self.constant(node) is None or self.constant(node) is ...

    def _shape(self, node: ast.Subscript, shape: ast.Attribute) -> syntax.Shape:
        array = self.array_name(shape.value)
        dim = MISSING if isinstance(node.slice, ast.Slice) else constant(self.expr(node.slice))
        if type(dim) is not int:
            raise self.error(node.slice, "the subscript of a shape must be a constant integer", "`A.shape[0]`")
        return syntax.Shape(array, dim, loc=self.text.loc(node))

    def _logical(self, node: ast.BoolOp, is_value: bool = True) -> syntax.Expr:
        """Returns `a and b` or `a or b`, up to the first part that is known to decide it, and without those known not to.

        Statements that compute parts of b, such as those of an inlined function, run where b is needed alone.

        is_value: whether more than the truth value counts
        """
        op, loc = "and" if isinstance(node.op, ast.And) else "or", self.text.loc(node)
        parts: list[tuple[list[syntax.Stmt], syntax.Expr]] = []
        for position, each in enumerate(node.values):
            is_last = position == len(node.values) - 1
            self._lazy += bool(parts)
            try:
                counts = is_last and is_value
                part = self._apart(each, counts) if parts else ([], self.expr(each) if counts else self.condition(each))
            finally:
                self._lazy -= bool(parts)
            known = constant(part[1])
            decides = known is not MISSING and bool(known) is (op == "or")
            if decides or is_last or known is MISSING:
                parts.append(part)
            if decides:
                break
        first, rest = parts[0][1], parts[1:]
        if not any(block for block, _ in rest):
            return syntax.Logical(op, (first, *(value for _, value in rest)), loc=loc) if rest else first
        result = syntax.Name(self.fresh("_decided"), loc=loc)
        needed: syntax.Expr = result if op == "and" else syntax.Unary("not", result, loc=loc)
        inner: tuple[syntax.Stmt, ...] = ()
        for block, value in reversed(rest):
            then = (*block, syntax.Assign(result, value, loc=loc), *inner)
            inner = (syntax.If(needed, then, loc=loc),)
        self.before += [syntax.Assign(result, first, loc=loc), *inner]
        return result

    def _apart(self, node: ast.expr, is_value: bool = True) -> tuple[list[syntax.Stmt], syntax.Expr]:
        """Returns the statements that compute parts of an expression, and the expression.

        is_value: whether more than its truth value counts
        """
        before, self.before = self.before, []
        try:
            value = self.expr(node) if is_value else self.condition(node)
            return self.before, value
        finally:
            self.before = before

    def _compare(self, node: ast.Compare) -> syntax.Expr:
        known = self._known_comparison(node)
        if known is not None:
            return syntax.Const(known, loc=self.text.loc(node))
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return self._member(node, isinstance(node.ops[0], ast.NotIn))
        if any(type(op) not in _COMPARE for op in node.ops):
            what = "`is` of what is computed is not part of the language"
            raise self.error(node, what, "< <= > >= == !=, `x is None`")
        sides = (node.left, *node.comparators)
        if (is_empty := self._compared_with_nothing(node)) is not None:
            return is_empty
        first = [self._side(side) for side in sides[:2]]
        later = [self._apart(side) if self.parts(side) is None else ([], self._side(side)) for side in sides[2:]]
        if any(block for block, _ in later):
            raise self.not_affine(node, "a call in a chain of comparisons, which may end before it", "`a < b and b < f(x)`")
        values = [*first, *(value for _, value in later)]
        pairs: list[syntax.Expr] = []
        for position, op in enumerate(node.ops):
            one, other = values[position : position + 2]
            loc = self.text.loc(sides[position], sides[position + 1])
            if isinstance(one, syntax.Expr) and isinstance(other, syntax.Expr):
                pairs.append(syntax.Compare(_COMPARE[type(op)], one, other, loc=loc))
            else:
                pairs.append(self._compared_tuples(node, op, (one, other), loc))
        return pairs[0] if len(pairs) == 1 else syntax.Logical("and", tuple(pairs), loc=self.text.loc(node))

    def _compared_with_nothing(self, node: ast.Compare) -> syntax.Expr | None:
        """Returns `out == []` and `out != []`; None for other comparisons."""
        if len(node.ops) > 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            return None
        for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            listed = self.parts(one) if isinstance(one, (ast.Name, ast.Subscript)) else None
            if isinstance(other, ast.List) and not other.elts and isinstance(listed, LISTS):
                loc = self.text.loc(node)
                return syntax.Compare(_COMPARE[type(node.ops[0])], length_of(listed, loc), syntax.Const(0, loc=loc), loc=loc)
        return None

    def _side(self, node: ast.expr) -> Value:
        """Returns one side of a comparison, which may be a tuple."""
        if isinstance(node, ast.Call) and self.python_function(node):
            return self.evaluated(node)
        found = self.parts(node)
        return self.expr(node) if found is None else found

    def _compared_tuples(self, node: ast.Compare, op: ast.cmpop, sides: tuple[Value, Value], loc: Loc) -> syntax.Expr:
        """Returns a comparison of tuples, which the ranks of arrays decide too."""
        if any(isinstance(each, LISTS) for side in sides for each in _parts_of(side)):
            raise self.not_affine(node, "a comparison of lists", "comparisons of their elements", "PML-F006")
        if not isinstance(op, (ast.Eq, ast.NotEq)):
            raise self.not_affine(
                node, "an order of tuples", "`A.shape == B.shape`, `t != u`, and comparisons of their parts", "PML-F006"
            )
        args = tuple(_compared(value, loc) for side in sides for value in _parts_of(self.held(side)))
        same = syntax.Function("same_tuple", args, (("form", tuple(map(_form, sides))),), loc=loc)
        return same if isinstance(op, ast.Eq) else syntax.Unary("not", same, loc=loc)

    def _member(self, node: ast.Compare, is_not: bool) -> syntax.Expr:
        """Returns `x in (1, 2)`, of numbers that are known, as comparisons with each of them."""
        loc, known = self.text.loc(node), self._constants_of(node.comparators[0])
        if known is MISSING and isinstance(self.parts(node.comparators[0]), LISTS):
            inside = self.is_in_list(node.comparators[0], node.left)
            return syntax.Unary("not", inside, loc=loc) if is_not else inside
        if not isinstance(known, tuple) or not known or not all(is_number(each) and each == each for each in known):
            accepted = "`x in (1, 2)`, of numbers that are known"
            raise self.error(node, "`in` of what is computed is not part of the language", accepted)
        value = self.held(self.expr(node.left))
        assert isinstance(value, syntax.Expr)
        same = [syntax.Compare("==", value, syntax.Const(each, loc=loc), loc=loc) for each in known]
        tests = tuple(syntax.Cast(each, PYBOOL, loc=loc) for each in same)
        found = tests[0] if len(tests) == 1 else syntax.Logical("or", tests, loc=loc)
        return syntax.Unary("not", found, loc=loc) if is_not else found

    def _constants_of(self, node: ast.expr) -> object:
        """Returns the constant that an expression is, a list of constants that is written out as a tuple."""
        if not isinstance(node, ast.List):
            return self.constant(node)
        parts = tuple(map(self.constant, node.elts))
        return MISSING if MISSING in parts else parts

    def _known_comparison(self, node: ast.Compare) -> bool | None:
        """Returns the result of `x is None`, `x == "text"`, `x in ("a", "b")` and the like, where it is known at parsing.

        None is returned for every other comparison.
        """
        if len(node.ops) != 1:
            return None
        left, right = self.constant(node.left), self.constant(node.comparators[0])
        match node.ops[0]:
            case ast.Is() if right is None:
                return left is None
            case ast.IsNot() if right is None:
                return left is not None
            case ast.Is() | ast.IsNot() if _is_single(left) and right is not MISSING or _is_single(right) and left is not MISSING:
                return (left is right) is isinstance(node.ops[0], ast.Is)
            case ast.Eq() | ast.NotEq() if _is_plain(left) and _is_plain(right) and not (is_number(left) and is_number(right)):
                return (left == right) is isinstance(node.ops[0], ast.Eq)
            case ast.In() | ast.NotIn() if _is_plain(left) and (isinstance(right, tuple) and _is_plain(right)):
                return (left in right) is isinstance(node.ops[0], ast.In)
            case ast.In() | ast.NotIn() if isinstance(left, str) and isinstance(right, str):
                return (left in right) is isinstance(node.ops[0], ast.In)
        return None

    def _choice(self, node: ast.IfExp) -> syntax.Expr:
        condition, loc = self.condition(node.test), self.text.loc(node)
        known = constant(condition)
        if known is not MISSING:
            return self.expr(node.body if known else node.orelse)
        blocks, chosen = zip(*map(self._apart, (node.body, node.orelse)))
        if not any(blocks):
            return syntax.IfExp(condition, *chosen, loc=loc)
        result = syntax.Name(self.fresh("_chosen"), loc=loc)
        then, orelse = ((*block, syntax.Assign(result, value, loc=loc)) for block, value in zip(blocks, chosen))
        self.before.append(syntax.If(condition, then, orelse, loc=loc))
        return result


def _parts_of(value: Value) -> list[syntax.Expr | ShapeOf | AnyList]:
    """Returns the numbers, arrays and shapes in a value, from left to right."""
    return [each for part in value for each in _parts_of(part)] if isinstance(value, tuple) else [value]


def _form(value: Value) -> object:
    """Returns a value with None in the place of each number and array, and "shape" in that of each shape."""
    if isinstance(value, tuple):
        return tuple(map(_form, value))
    return "shape" if isinstance(value, ShapeOf) else None


def _compared(value: syntax.Expr | ShapeOf | AnyList, loc: Loc) -> syntax.Expr:
    return syntax.Name(value.array, loc=loc) if isinstance(value, ShapeOf) else next(leaves(value))


def _is_single(value: object) -> bool:
    """Returns whether a value is the only object of its kind, so that `is` tells it from others."""
    return value is None or isinstance(value, bool | Enum)


def _is_plain(value: object) -> bool:
    """Returns whether a value that is known at parsing can be compared there: a text, a number, None, a member of an enumeration, a tuple."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | Enum) or type(value) in (bool, int, float, complex)


def _negated(unary: syntax.Unary) -> syntax.Expr:
    """Returns the unary operation, or one negative constant for a minus before a constant number.

    Type inference knows the value of a constant, but not that of an operation. And -2**63 fits 64 bits, though 2**63 does not.
    """
    operand = unary.operand
    if unary.op == "-" and isinstance(operand, syntax.Const) and type(operand.value) in (int, float, complex):
        return syntax.Const(-operand.value, loc=unary.loc)
    return unary
