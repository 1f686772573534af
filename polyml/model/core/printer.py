"""A SCoP and its dependences as text for people, in isl syntax, and as data for JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.model.core.dependence import Dependences
from polyml.model.core.nest import children
from polyml.model.core.scop import Access, Array, Check, Gather, Index, Load, Region, ScalarArg, Scop, Statement, Value
from polyml.quasi_affine.affine import Affine
from polyml.source import Loc

LIMIT = 400  # characters of an operand; one that is longer shows as "..."

OPERATIONS = (
    20_000_000  # of isl, for one kind of dependences: about four seconds; a reader waits, and a failure is being written down
)

_RELATIONS = ("flow", "anti", "output", "value_flow")
_LOOSEST, TIGHTEST = 0, 20
_BINDING = {
    "or": 1, "and": 2, "not": 3, "compare": 4, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
    "*": 10, "/": 10, "//": 10, "%": 10, "sign": 11, "**": 12,
}  # fmt: skip
_TIGHT = ("*", "/", "**")

_Made = TypeVar("_Made")
Printed = tuple[str, int]  # a text and how tightly its outermost operation binds


def scop_text(scop: Scop) -> str:
    """Returns a SCoP as text: the kernel, parameters, arrays, statements with their sets and relations, checks and order.

    isl can parse a set or relation of the text with the list from the line `parameters` in front: "[N, M] -> { ... }".
    """
    lines = [f"kernel {scop.name}({', '.join(f'{n}: {t}' for n, t in zip(scop.params, scop.types))})"]
    lines.append(f"parameters [{', '.join(p.name for p in scop.parameters)}]")
    lines += [f"    {parameter_text(p)}" for p in scop.parameters]
    lines.append(f"context {_braces(scop.context)}")
    lines += [f"array {_array_text(a)}" for a in scop.arrays.values()]
    for statement in scop.statements.values():
        lines += ["", *_statement_lines(statement)]
    if scop.checks:
        lines += ["", "checks"]
        lines += [f"    {_check_text(c)}" for c in scop.checks]
    if scop.results:
        returned = ", ".join(result_text(r) for r in scop.results)
        form = f" as {scop.result_form}" if scop.result_form else ""
        lines += ["", f"returns ({returned}){form}" if scop.result_is_tuple or form else f"returns {returned}"]
    return "\n".join([*lines, "", "source order", _indented(schedule_text(scop.schedule))])


def scop_data(scop: Scop) -> dict:
    """Returns a SCoP as lists, dictionaries and texts, for JSON; every set and relation is in full isl syntax."""
    return {
        "name": scop.name,
        "params": [{"name": n, "type": str(t)} for n, t in zip(scop.params, scop.types)],
        "parameters": [{"name": p.name, "array": p.array, "dim": p.dim, "extreme": p.extreme} for p in scop.parameters],
        "context": str(scop.context),
        "arrays": [
            {"name": a.name, "element": str(a.element), "shape": [str(e) for e in a.shape], "role": a.role.value}
            for a in scop.arrays.values()
        ],
        "statements": [_statement_data(s) for s in scop.statements.values()],
        "checks": [
            {"kind": c.kind, "what": c.what, "violated": str(c.violated), "may": c.may, "at": _place(c.loc)} for c in scop.checks
        ],
        "results": [r.array for r in scop.results],
        "result_is_tuple": scop.result_is_tuple,
        "result_form": scop.result_form,
        "schedule": str(scop.schedule),
    }


def dependences_text(dependences: Dependences) -> str:
    """Returns a SCoP's flow, anti, output and value-based flow dependences as text, one line per pair of statements.

    A kind that takes isl too many steps to find has a line that says so.
    """
    lines = []
    for kind in _RELATIONS:
        text = _in_time(lambda: polyhedra.text(getattr(dependences, kind)))
        text = f"not found within {OPERATIONS:,} operations of isl" if text is None else text
        lines += [kind, *(f"    {line}" for line in text.splitlines())]
    return "\n".join(lines)


def dependences_data(dependences: Dependences) -> dict:
    """Returns by kind of dependence a list of relations in full isl syntax, one per pair of statements.

    A kind that takes isl too many steps to find has None instead of the list.
    """

    def pieces(kind: str) -> list[str]:
        return [str(piece.coalesce()) for piece in polyhedra.pieces(getattr(dependences, kind))]

    return {kind: _in_time(partial(pieces, kind)) for kind in _RELATIONS}


def _in_time(made: Callable[[], _Made]) -> _Made | None:
    """Returns what the function `made` returns; None where isl would need too many steps for it.

    For example, it may take too many to find the last writers of elements that many statements write.
    """
    try:
        with polyhedra.budget(OPERATIONS):
            return made()
    except polyhedra.BudgetExceeded:
        return None


def schedule_text(schedule: isl.Schedule) -> str:
    """Returns the schedule tree in isl's block syntax, which `isl.Schedule` can parse."""
    printer = isl.Printer.to_str(schedule.get_ctx()).set_yaml_style(isl.yaml_style.BLOCK)
    return printer.print_schedule(schedule).get_str().rstrip()


def statement_text(statement: Statement) -> str:
    """Returns a statement as an assignment over its own iterators, such as "C[i, j] = beta*C[i, j]"."""
    if statement.region is not None:
        return region_text(statement.region)
    return f"{access_text(statement.write)} = {value_text(statement.value, statement_leaf(statement, integer_text))}"


def region_text(region: Region, point: Mapping[str, Affine] = MappingProxyType({})) -> str:
    """Returns a region as what it may write of what it may read, such as "y[i] = region(ptr[i], ptr[i + 1], x[?])".

    point: values of iterators to put in their place
    """
    texts: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for access in region.accesses:
        indices = ("?" if e is None else str(e.substitute(point)) for e in access.subscripts)
        texts[access.writes][f"{access.array}[{', '.join(indices)}]" if access.subscripts else access.array] = None
    return f"{', '.join(texts[True]) or 'nothing'} = region({', '.join(texts[False])})"


def access_text(access: Access, integer: Callable[[isl.PwAff], str] | None = None) -> str:
    """Returns an access as text, such as "A[i, j + 1]"; for a scalar it is the name alone.

    integer: makes the text of one subscript; None for `integer_text`
    """
    if not access.subscripts:
        return access.array
    return f"{access.array}[{', '.join((integer or integer_text)(s) for s in access.subscripts)}]"


def statement_leaf(statement: Statement, integer: Callable[[isl.PwAff], str]) -> Callable[[Value], Printed]:
    """Returns a function from a leaf of the statement's value to its text and precedence, which is greater the tighter it binds.

    integer: makes the text of an affine integer
    """

    def leaf(value: Value) -> Printed:
        if isinstance(value, Load):
            return access_text(statement.reads[value.access], integer), TIGHTEST
        if isinstance(value, ScalarArg):
            return value.name, TIGHTEST
        if isinstance(value, Index):
            text = integer(value.value)
        elif isinstance(value, syntax.Const):
            text = constant_text(value.value)
        else:
            raise TypeError(f"no leaf of a statement's value: {value!r}")
        return text, binding(text)

    return leaf


def binding(text: str) -> int:
    """Returns the precedence of the text of an affine integer or a constant: it is greater the tighter its last operation binds.

    It is the least one for an operation in isl's syntax, which Python does not have.
    """
    try:
        outermost = ast.parse(text, mode="eval").body
    except SyntaxError:
        return _LOOSEST
    if isinstance(outermost, ast.BinOp):
        return _BINDING["+" if isinstance(outermost.op, (ast.Add, ast.Sub)) else "*"]
    if isinstance(outermost, ast.UnaryOp):
        return _BINDING["sign"]
    return _LOOSEST if isinstance(outermost, ast.IfExp) else TIGHTEST


def value_text(value: Value, leaf: Callable[[Value], Printed]) -> str:
    """Returns the value as a Python expression, without conversions that the source does not show.

    leaf: returns the text of a leaf and its precedence, a number that is greater the more tightly it binds
    """
    return _printed(value, leaf, {})[0]


def constant_text(value: object) -> str:
    """Returns a constant as Python writes it."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def parameter_text(parameter: Parameter) -> str:
    """Returns a parameter with what it stands for: "N = A.shape[0]", "m = A.min()", or "n = n" for a number argument."""
    if parameter.found:
        return f"{parameter.name} = where data end a loop"
    if parameter.array is None:
        return f"{parameter.name} = {parameter.argument or parameter.name}"
    if parameter.extreme:
        return f"{parameter.name} = {parameter.array}.{parameter.extreme}()"
    return f"{parameter.name} = {parameter.array}.shape[{parameter.dim}]"


def integer_text(value: isl.PwAff) -> str:
    """Returns an affine expression { S[i] -> [(i + 1)] } as text, "i + 1".

    A piecewise expression becomes a conditional one, in which the condition of the last piece is left out.
    """
    cases = [_case(part) for part in _inside(str(value)).split(";")]
    last = cases.pop()[0]
    chain = "".join(f"{e} if {condition} else " for e, condition in cases)
    return f"({chain}{last})" if chain else last


def _case(text: str) -> tuple[str, str]:
    """Returns the texts (e, condition) of a piece `S[i] -> [(e)] : condition` in isl's syntax."""
    found = re.fullmatch(r"\s*(?:\w*\[[^\]]*\] -> )?\[\((.*?)\)\](?: : (.*?))?\s*", text)
    if found is None:
        return text.strip(), ""
    expression, condition = (re.sub(r"\b(\d+)(?=[A-Za-z_(])", r"\1*", part or "") for part in found.groups())
    return expression, condition


def _inside(text: str) -> str:
    """Returns the part of a text that is between the first and the last brace."""
    return text[text.index("{") + 1 : text.rindex("}")]


def _braces(value: isl.Set | isl.Map) -> str:
    """Returns the text of a set or relation without its list of parameters."""
    text = str(value.coalesce())
    return text[text.index("{") :].replace("{  :", "{ :")


def _statement_lines(statement: Statement) -> list[str]:
    loc = statement.loc
    where = f"  # {loc}: {loc.source.line(loc.line).strip()}" if loc else ""
    lines = [f"{statement.name}  {statement_text(statement)}{where}"]
    lines.append(f"    domain  {_braces(statement.domain)}")
    lines += [f"    write   {_relation_text(access)}" for access in statement.writes]
    return lines + [f"    read    {_relation_text(read)}" for read in statement.reads]


def _relation_text(access: Access) -> str:
    return _braces(access.relation) + ("  # perhaps" if access.may else "")


def _statement_data(statement: Statement) -> dict:
    return {
        "name": statement.name,
        "iterators": list(statement.iterators),
        "text": statement_text(statement),
        "domain": str(statement.domain),
        "write": None if statement.region is not None else _access_data(statement.write),
        "writes": [_access_data(write) for write in statement.writes],
        "reads": [_access_data(read) for read in statement.reads],
        "at": _place(statement.loc),
    }


def _access_data(access: Access) -> dict:
    return {"array": access.array, "relation": str(access.relation), "may": access.may}


def _place(loc: Loc | None) -> dict | None:
    return None if loc is None else {"file": loc.source.file, "line": loc.line, "column": loc.column}


def _array_text(array: Array) -> str:
    shape = f"[{', '.join(integer_text(e) for e in array.shape)}]" if array.shape else ""
    return f"{array.name}: {array.element}{shape} ({array.role.value})"


def _check_text(check: Check) -> str:
    where = f"{check.loc}: " if check.loc else ""
    outcome = "runs as Python" if check.kind in ("usual", "raise") else f"{check.kind} error"
    return f"{where}{check.what}: {outcome} when {_braces(check.violated)}"


def result_text(result: ScalarResult | ArrayResult) -> str:
    """Returns the name of a result's array; for a number, with its type."""
    if isinstance(result, ArrayResult):
        return f"{result.array} of {result.sizes} sizes" if result.sizes else result.array
    return f"{result.array}: {result.dtype}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _printed(value: Value, leaf: Callable[[Value], Printed], seen: dict[int, Printed]) -> Printed:
    """Returns the text of a value and its precedence, which is greater the more tightly it binds; too long a text becomes "...".

    leaf: returns both for a leaf
    seen: the results so far, by the identity of the sub-tree, as a value may have it in several places; it is extended
    """
    known = seen.get(id(value))
    if known is None:
        operands = [_printed(child, leaf, seen) for child in children(value)]
        known = _operation(value, operands) if operands else leaf(value)
        known = seen[id(value)] = known if len(known[0]) <= LIMIT else ("...", TIGHTEST)
    return known


def _operation(value: Value, operands: list[Printed]) -> Printed:
    """Returns the text of an operation and its precedence, from those of its operands; a greater precedence binds more tightly."""
    at = partial(_at_least, operands)
    if isinstance(value, syntax.Cast):
        if value.implicit:
            return operands[0]
        return f"{value.to.name if value.to.weak else value.to.numpy_name}({operands[0][0]})", TIGHTEST
    if isinstance(value, Gather):
        return f"{value.array}[{', '.join(text for text, _ in operands)}]", TIGHTEST
    if isinstance(value, syntax.Call):
        return f"{value.function}({', '.join(text for text, _ in operands)})", TIGHTEST
    if isinstance(value, syntax.IfExp):
        return f"{at(1, 1)} if {at(0, 1)} else {at(2, _LOOSEST)}", _LOOSEST
    if isinstance(value, syntax.Logical):
        own = _BINDING[value.op]
        return f" {value.op} ".join(at(i, own + 1) for i in range(len(operands))), own
    if isinstance(value, syntax.Compare):
        own = _BINDING["compare"]
        return f"{at(0, own + 1)} {value.op} {at(1, own + 1)}", own
    if isinstance(value, syntax.Unary):
        own = _BINDING["not" if value.op == "not" else "sign"]
        return f"{value.op}{' ' if value.op == 'not' else ''}{at(0, own)}", own
    if not isinstance(value, syntax.Binary):
        raise TypeError(f"no operation: {value!r}")
    if value.op in ("min", "max"):
        return f"{value.op}({operands[0][0]}, {operands[1][0]})", TIGHTEST
    own = _BINDING[value.op]
    right_first = value.op == "**"
    joiner = value.op if value.op in _TIGHT else f" {value.op} "
    return f"{at(0, own + right_first)}{joiner}{at(1, own + (not right_first))}", own


def _at_least(operands: list[Printed], index: int, least: int) -> str:
    """Returns the text of an operand, in parentheses where it binds less tightly than `least`.

    operands: pairs (text, how tightly it binds)
    """
    text, own = operands[index]
    return text if own >= least else f"({text})"
