"""Small SCoPs written down in isl syntax, so that tests of later stages do not depend on earlier ones."""

import re
from dataclasses import replace

import islpy as isl

from polyml.dtypes import F64
from polyml.frontend import syntax
from polyml.model.core.call_interface import Parameter
from polyml.model.core.scop import Access, Array, Load, Role, Scop, Statement


def access(parameters, statement, iterators, array, subscripts):
    """An access from text: access(["N"], "S", ["i"], "A", ["i + 1"])."""
    head, point = f"[{', '.join(parameters)}] -> ", f"{statement}[{', '.join(iterators)}]"
    return Access(
        array=array,
        relation=isl.Map(f"{head}{{ {point} -> {array}[{', '.join(subscripts)}] }}"),
        subscripts=tuple(isl.PwAff(f"{head}{{ {point} -> [({s})] }}") for s in subscripts),
    )


def statement(parameters, name, domain, write, reads, value):
    """statement(["N"], "S", "[i] : 0 <= i < N", ("A", ["i"]), [("A", ["i - 1"])], value)."""
    iterators = [i.strip() for i in re.match(r"\[(.*?)\]", domain).group(1).split(",") if i.strip()]
    return Statement(
        name=name,
        iterators=tuple(iterators),
        domain=isl.Set(f"[{', '.join(parameters)}] -> {{ {name}{domain} }}"),
        writes=(access(parameters, name, iterators, *write),),
        reads=tuple(access(parameters, name, iterators, *read) for read in reads),
        value=value,
    )


def scop(parameters, arrays, statements, schedule, *, params, types, checks=(), results=(), is_tuple=False):
    """parameters: name -> Parameter. arrays: name -> (role, element, shape as texts)."""
    head = f"[{', '.join(parameters)}] -> "
    made = {
        name: Array(
            name=name, element=element, role=role, shape=tuple(isl.PwAff(f"{head}{{ [({s})] }}") for s in shape),
            source_name=name,
        )
        for name, (role, element, shape) in arrays.items()
    }  # fmt: skip
    facts = " and ".join(f"{name} >= 0" for name in parameters) or "true"
    return Scop(
        name="handmade",
        params=tuple(params),
        types=tuple(types),
        parameters=tuple(parameters.values()),
        arrays=made,
        statements={s.name: s for s in statements},
        context=isl.Set(f"{head}{{ : {facts} }}"),
        schedule=isl.Schedule(schedule),
        checks=tuple(checks),
        results=tuple(results),
        result_is_tuple=is_tuple,
    )


def load(index, dtype=F64):
    return Load(index, dtype=dtype)


def plus(left, right, dtype=F64):
    return syntax.Binary("+", left, right, dtype=dtype)


def times(left, right, dtype=F64):
    return syntax.Binary("*", left, right, dtype=dtype)


def vector_scop(written, value, reads, *, element=F64, domain="[i] : 0 <= i < N", extra=None, write_at=("i",)):
    """One statement S over `domain` on the arrays A and B of N elements each, and those in `extra`."""
    parameters = {"N": Parameter("N", "A", 0)}
    s = statement(["N"], "S", domain, (written, list(write_at)), reads, value)
    arrays = {n: (Role.ARGUMENT, element, ["N"]) for n in "AB"} | (extra or {})
    tree = f'{{ domain: "{s.domain}", child: {{ schedule: "[N] -> [{{ S[i] -> [(i)] }}]" }} }}'
    kind = syntax.ArrayType(element, 1)
    return scop(parameters, arrays, [s], tree, params="AB", types=[kind, kind])


def triangle_scop(domain):
    """A[i, j] = 1 over a domain { S[i, j] : ... }."""
    parameters = {"N": Parameter("N", "A", 0)}
    s = statement(["N"], "S", domain[domain.index("S[") + 1 : -1], ("A", ["i", "j"]), [], syntax.Const(1.0, dtype=F64))
    tree = f'{{ domain: "{s.domain}", child: {{ schedule: "[{{ S[i, j] -> [(i)] }}, {{ S[i, j] -> [(j)] }}]" }} }}'
    arrays = {"A": (Role.ARGUMENT, F64, ["N", "N"])}
    return scop(parameters, arrays, [s], tree, params="A", types=[syntax.ArrayType(F64, 2)])


def changed(given, *, checks=None, results=None, is_tuple=None):
    """The SCoP with other checks or results."""
    return replace(
        given,
        checks=given.checks if checks is None else checks,
        results=given.results if results is None else tuple(results),
        result_is_tuple=given.result_is_tuple if is_tuple is None else is_tuple,
    )
