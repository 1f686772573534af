"""Converts isl's functions, sets and ASTs to quasi-affine expressions and conditions, in the names of their iterators and
parameters.
"""

from __future__ import annotations

import re
from functools import lru_cache

import islpy as isl

from polyml import polyhedra
from polyml.quasi_affine.affine import (
    FALSE,
    TRUE,
    Affine,
    Compare,
    Condition,
    Logic,
    choice,
    conjunction,
    disjunction,
    extremum,
    floor_div,
    linear,
    modulo,
    negate,
    non_negative,
    variable,
    zero,
)

_OP = isl.ast_expr_op_type
_AND, _OR = (getattr(_OP, name) for name in ("and_", "or_"))  # which the types of islpy leave out


def integer_expression(value: isl.PwAff) -> Affine:
    """Returns an expression in parameters alone, [N, M] -> { [(e)] }, as an Affine whose names are these parameters."""
    build_ = isl.AstBuild.from_context(isl.Set.universe(value.get_domain_space().params()))
    return integer_of_ast(build_.expr_from_pw_aff(value))


_TUPLE = re.compile(r"(?:[A-Za-z_]\w*)?\[([^\[\]]*)\] -> \[")
_PARAMETERS = re.compile(r"^\[([^\]]*)\] -> \{")
_NAME = re.compile(r"[^\W\d]\w*")
_LIST = r"\[(?:[^\W\d]\w*(?:, [^\W\d]\w*)*)?\]"  # of names
_LINEAR = re.compile(rf"(?:{_LIST} -> )?{{ (?:(?:[^\W\d]\w*)?{_LIST} -> )?\[\(([^()\[\]]+)\)\] }}")
_TERM = re.compile(r"(-?)(\d*)([^\W\d]\w*)?")


def expression_of_iterators(value: isl.PwAff) -> Affine:
    """Returns the function { S[i, j] -> [(e)] } as an Affine whose names are i, j and the parameters."""
    return _of_text(str(value))


@lru_cache(maxsize=4096)
def _of_text(text: str) -> Affine:
    """Returns the Affine of a function that has this text: equal functions are converted once."""
    found = _LINEAR.fullmatch(text)
    value = None if found is None else _sum_of_text(found.group(1))
    return integer_expression(_as_parameters(text)) if value is None else value


def _sum_of_text(text: str) -> Affine | None:
    """Returns the sum of numbers and multiples of names that isl has printed, such as `-1 + 2i - j`; None where it is another text."""
    terms: list[tuple[str, int]] = []
    constant = 0
    for word in text.replace(" - ", " + -").split(" + "):
        found = _TERM.fullmatch(word)
        if found is None or word in ("", "-"):
            return None
        sign, number, name = found.groups()
        factor = int(number or 1) * (-1 if sign else 1)
        if name:
            terms.append((name, factor))
        else:
            constant += factor
    return linear(terms, constant)


def _as_parameters(text: str) -> isl.PwAff:
    """Returns the function { S[i, j] -> [(e)] } that has this text with i and j turned into parameters: [i, j] -> { [(e)] }.

    Parameters that it does not mention are left out, since isl's reader takes most of its time for them.
    """
    header = _PARAMETERS.match(text)
    names = header.group(1).split(", ") if header else []
    body = text[text.index("{") :]
    found = _TUPLE.search(body)
    if found and found.group(1):
        names += found.group(1).split(", ")
    body = _TUPLE.sub("[", body)
    mentioned = {*_NAME.findall(body)}
    return isl.PwAff(f"[{', '.join(name for name in names if name in mentioned)}] -> {body}")


def condition_expression(condition: isl.Set, context: isl.Set) -> Condition:
    """Returns a set of parameters, { : ... }, as a condition on them.

    context: constraints that are known to hold, which the condition leaves out.
    """
    context = context.align_params(condition.get_space())
    found = _linear_condition(condition.gist(context))
    if found is not None:
        return found
    return condition_of_ast(isl.AstBuild.from_context(context).expr_from_set(condition.align_params(context.get_space())))


def _linear_condition(condition: isl.Set) -> Condition | None:
    """Returns a set of parameters as a condition; None where a constraint has quotients."""
    parts: list[Condition] = []
    for piece in polyhedra.alternatives(condition):
        rows = polyhedra.rows(piece)
        if rows is None:
            return None
        parts.append(conjunction(*((zero if is_zero else non_negative)(linear(terms.items(), c)) for is_zero, terms, c in rows)))
    return disjunction(*parts)


def integer_of_ast(expr: isl.AstExpr) -> Affine:
    """Returns an integer expression of isl's AST as an Affine. Raises ValueError for a call, an access or another operation."""
    kind = expr.get_type()
    if kind == isl.ast_expr_type.int:
        return Affine(expr.get_val().to_python())
    if kind == isl.ast_expr_type.id:
        return variable(expr.get_id().get_name())
    op = expr.get_op_type()
    if op in (_OP.cond, _OP.select):
        return choice(condition_of_ast(expr.get_op_arg(0)), integer_of_ast(expr.get_op_arg(1)), integer_of_ast(expr.get_op_arg(2)))
    args = [integer_of_ast(expr.get_op_arg(i)) for i in range(expr.get_op_n_arg())]
    if op == _OP.add:
        return args[0] + args[1]
    if op == _OP.sub:
        return args[0] - args[1]
    if op == _OP.minus:
        return args[0] * -1
    if op == _OP.mul:
        return args[1] * args[0].constant if args[0].is_constant else args[0] * args[1].constant
    if op in (_OP.min, _OP.max):
        return extremum("min" if op == _OP.min else "max", args)
    if op in (_OP.fdiv_q, _OP.pdiv_q, _OP.div):
        return floor_div(args[0], args[1].constant)
    if op in (_OP.pdiv_r, _OP.zdiv_r):  # zdiv_r is only compared with zero
        return modulo(args[0], args[1].constant)
    raise ValueError(f"isl expression {expr.to_C_str()} is not an integer expression")


def condition_of_ast(expr: isl.AstExpr) -> Condition:
    """Returns a condition of isl's AST as a Condition. Raises ValueError for an expression that is no condition."""
    if expr.get_type() == isl.ast_expr_type.int:
        return TRUE if expr.get_val().to_python() else FALSE
    op = expr.get_op_type()
    if op in (_AND, _OP.and_then):
        return conjunction(*(condition_of_ast(expr.get_op_arg(i)) for i in range(expr.get_op_n_arg())))
    if op in (_OR, _OP.or_else):
        return Logic("or", tuple(condition_of_ast(expr.get_op_arg(i)) for i in range(expr.get_op_n_arg())))
    if op in (_OP.cond, _OP.select):
        test = condition_of_ast(expr.get_op_arg(0))
        then, orelse = condition_of_ast(expr.get_op_arg(1)), condition_of_ast(expr.get_op_arg(2))
        return Logic("or", (conjunction(test, then), conjunction(negate(test), orelse)))
    left, right = integer_of_ast(expr.get_op_arg(0)), integer_of_ast(expr.get_op_arg(1))
    if op == _OP.eq:
        return Compare("==", left - right)
    if op == _OP.ge:
        return Compare(">=", left - right)
    if op == _OP.le:
        return Compare(">=", right - left)
    if op == _OP.gt:
        return Compare(">=", left - right - 1)
    if op == _OP.lt:
        return Compare(">=", right - left - 1)
    raise ValueError(f"isl expression {expr.to_C_str()} is not a condition")
