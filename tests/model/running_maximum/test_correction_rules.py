"""Each rule for terms t(x, m) is an identity: t(x, m) = t(x, k) * g(k, m), proved by sympy on the expressions that the rule makes."""

import sympy

from polyml.dtypes import F64
from polyml.frontend import syntax
from polyml.model.running_maximum.correction_rules import RULES

FUNCTIONS = {"exp": sympy.exp, "exp2": lambda x: 2**x}


def as_sympy(value, **known):
    if isinstance(value, syntax.Name):
        return known[value.name]
    if isinstance(value, syntax.Binary):
        left, right = as_sympy(value.left, **known), as_sympy(value.right, **known)
        return {"+": left + right, "-": left - right, "*": left * right, "/": left / right}[value.op]
    return FUNCTIONS[value.function](*(as_sympy(part, **known) for part in value.args))


def test_sums_of_terms_are_corrected_by_the_factor():
    x, k, m = (syntax.Name(name, dtype=F64) for name in "xkm")
    real = {name: sympy.Symbol(name, real=True) for name in "xkm"}
    for rule, name in zip(RULES, FUNCTIONS, strict=True):
        term = syntax.Call(name, (syntax.Binary("-", x, m, dtype=F64),), dtype=F64)
        assert rule.operands(term) == (x, m)
        before = as_sympy(syntax.Call(name, (syntax.Binary("-", x, k, dtype=F64),), dtype=F64), **real)
        assert sympy.simplify(before * as_sympy(rule.factor(k, m, F64), **real) - as_sympy(term, **real)) == 0


def test_other_terms_have_no_rule():
    x, m = (syntax.Name(name, dtype=F64) for name in "xm")
    others = [
        syntax.Call("exp", (syntax.Binary("+", x, m, dtype=F64),), dtype=F64),
        syntax.Call("expm1", (syntax.Binary("-", x, m, dtype=F64),), dtype=F64),
        syntax.Binary("/", x, m, dtype=F64),
    ]
    assert [rule.operands(value) for rule in RULES for value in others] == [None] * len(RULES) * len(others)
