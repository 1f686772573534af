"""A SCoP as text with all that it is, which `reader.parse` reads back to an equal one.

    text      = "polyml scop, format 1" scop {source}
    scop      = "kernel" NAME "(" {NAME ":" type ","} ")" parameters context [usual] [limits] [related] {array} {statement} {check} [returns]
                "order" {a line of isl's schedule tree}
    parameters = "parameters" "[" {NAME ","} "]" {NAME "=" (NAME | NAME ".shape[" INTEGER "]" | NAME "." ("min" | "max") "()") ["for" NAME]}
    context   = "context" set                   usual = "usual" set          limits = "limits" {NAME "<=" INTEGER ","}
    related   = "related" {STRING ","}
    array     = ["spared"] "array" NAME ":" TYPE ["[" {NAME | INTEGER | function ","} "]"] "(" role ["," "of" STRING] ["," "pairs"] ")" [at]
    role      = "argument" | "local" | "result"
    statement = "statement" NAME "[" {NAME ","} "]" [at] domain write {read} {let} "value" expr
    domain    = "domain" set                    write = "write" access       read = "read" LABEL access
    access    = set ["by" function {"," function}] ["perhaps"] [at]
    check     = "check" KIND "[" {NAME ","} "]" STRING ["dim" INTEGER] ["perhaps"] [at] "violated" set "instances" set
                ["subscript" function] ["size" function]
    returns   = "returns" ("(" {result ","} ")" | result ["," result])       result = NAME [":" TYPE ["of" TYPE]]
    leaf      = LABEL | ["arg"] NAME | function | NAME ["!"] "[" {expr ","} "]"

What belongs to a line is indented by four. A LABEL names a read in the statement's value: its array, with a number where the
statement reads that array in several places. `{i + 1}` is the affine function of the statement's iterators, as is a function in
full. `by` has the subscripts of an access where they are not what isl finds in the relation. Two results without parentheses are
the parts of one complex number. Sets are those of `isl_texts`, places and sources those of `places`, expressions those of
`frontend.text.expression_text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import islpy as isl

from polyml import polyhedra
from polyml.dtypes import PYINT, DType
from polyml.errors import PolymlError
from polyml.frontend import syntax
from polyml.frontend.syntax import ArrayType, Expr
from polyml.frontend.text.expression_text import RESERVED as OF_EXPRESSIONS
from polyml.frontend.text.expression_text import ExpressionWriter, Printed, arithmetic_type
from polyml.model.core.call_interface import ArrayResult, Parameter, ScalarResult
from polyml.model.core.nest import children
from polyml.model.core.printer import schedule_text, statement_text
from polyml.model.core.scop import Access, Array, Check, Gather, Index, Load, ScalarArg, Scop, Statement
from polyml.model.text.isl_texts import IslTexts
from polyml.model.text.places import PlaceWriter
from polyml.reading.text_scanner import INDENT, head, string
from polyml.reading.text_scanner import quoted as quoted_name

KIND, FORMAT = "scop", 1
RESERVED = OF_EXPRESSIONS | {"arg"}
_LONGEST = 300  # characters of a statement's comment


def text(scop: Scop) -> str:
    """Returns the text of a SCoP, from which `reader.parse` makes an equal one."""
    places = PlaceWriter()
    return "\n".join((head(KIND, FORMAT), *lines(scop, places), *places.lines())) + "\n"


def lines(scop: Scop, places: PlaceWriter) -> Iterator[str]:
    """Yields the lines of a SCoP, as in the module's grammar.

    places: collects the sources of its locations, which go to the text's end
    """
    return _ScopWriter(scop, places).lines()


def quoted(name: str) -> str:
    """Returns a name as the module's grammar has it: in quotes where it is not a plain word or is a reserved one."""
    return quoted_name(name, RESERVED)


def labels(arrays: Iterable[str]) -> list[str]:
    """Returns names for the reads of a statement: each one's array, or A.0, A.1, ... where several reads are of one array A.

    arrays: the array of each read
    """
    names = list(arrays)
    count, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        found.append(f"{name}.{seen[name]}" if count[name] > 1 else name)
        seen[name] += 1
    return found


class LeafTypes:
    """A LeafTypes knows the type that a leaf of a value has where the text has none: that of the array or argument that it reads.

    params: the kernel's arguments and their types
    arrays: by name
    """

    def __init__(self, params: Iterable[tuple[str, syntax.ArgType]], arrays: dict[str, Array]):
        self._numbers = {name: kind.dtype for name, kind in params if not isinstance(kind, ArrayType)}
        self._arrays = arrays
        self.reads: tuple[Access, ...] = ()  # of the current statement

    def natural(self, leaf: Expr) -> DType | None:
        """Returns the type that a leaf has where the text has none; None where its array is unknown.

        It is the type of the array or argument that the leaf reads, and PYINT, Python's int, for any other leaf.
        """
        match leaf:
            case Load():
                return self._element(self.reads[leaf.access].array)
            case Gather():
                return self._element(leaf.array)
            case ScalarArg():
                name, _, part = leaf.name.partition(".")
                kind = arithmetic_type(self._numbers.get(name, PYINT))
                return kind.part if part else kind
        return PYINT

    def _element(self, array: str) -> DType | None:
        return self._arrays[array].element if array in self._arrays else None


class _ScopWriter:
    """A _ScopWriter makes the lines of one SCoP."""

    def __init__(self, scop: Scop, places: PlaceWriter):
        self._scop, self._at = scop, places.at
        self._isl = IslTexts([p.name for p in scop.parameters])
        self._types = LeafTypes(zip(scop.params, scop.types), scop.arrays)
        self._write = ExpressionWriter(children, self._leaf, self._types.natural)
        self._labels: list[str] = []
        self._statement: Statement

    def lines(self) -> Iterator[str]:
        """Yields all lines of the SCoP, in the order of the grammar."""
        scop, of = self._scop, self._isl.written
        given = ", ".join(f"{quoted(name)}: {kind}" for name, kind in zip(scop.params, scop.types, strict=True))
        yield f"kernel {quoted(scop.name)}({given})"
        yield f"parameters [{', '.join(p.name for p in scop.parameters)}]"
        yield from (INDENT + _parameter(p) for p in scop.parameters)
        yield f"context {of(scop.context)}"
        if scop.usual is not None:
            yield f"usual {of(scop.usual)}"
        if scop.limits:
            yield f"limits {', '.join(f'{name} <= {most}' for name, most in scop.limits.items())}"
        if scop.related:
            yield f"related {', '.join(string(str(relation)) for relation in scop.related)}"
        yield from (self._array(a) for a in scop.arrays.values())
        yield from (f"spared {self._array(a)}" for a in scop.spared)
        for statement in scop.statements.values():
            yield from self._statement_lines(statement)
        for check in scop.checks:
            yield from self._check(check)
        if scop.results or scop.result_is_tuple:
            returned = ", ".join(map(_result, scop.results))
            form = f" as {string(scop.result_form)}" if scop.result_form else ""
            yield f"returns ({returned}){form}" if scop.result_is_tuple or form else f"returns {returned}"
        yield "order"
        yield from (INDENT + line for line in schedule_text(scop.schedule).splitlines())

    def _array(self, array: Array) -> str:
        shape = f"[{', '.join(map(self._extent, array.shape))}]" if array.shape else ""
        name = "" if array.source_name == array.name else f", of {string(array.source_name)}"
        pairs = ", pairs" if array.pairs else ""
        return f"array {quoted(array.name)}: {array.element}{shape} ({array.role.value}{name}{pairs}){self._at(array.loc)}"

    def _extent(self, extent: isl.PwAff) -> str:
        """Returns the text of an array's extent in one dimension: N or 10 for a parameter or a number, any other in braces."""
        short = self._isl.expression(extent, "", ())
        inside = short[1:-1]
        is_plain = inside.isdecimal() or inside in (p.name for p in self._scop.parameters)
        return inside if is_plain else short

    def _statement_lines(self, statement: Statement) -> Iterator[str]:
        if statement.region is not None:
            raise PolymlError(
                f"{statement.name} is a region, whose statements a complete text does not have",
                loc=statement.loc,
                notes=["the readable text of the stage has it"],
            )
        comment = statement_text(statement)
        iterators = ", ".join(statement.iterators)
        short = comment if len(comment) <= _LONGEST else f"{comment[:_LONGEST]}..."
        yield f"statement {statement.name}[{iterators}]{self._at(statement.loc)}  # {short}"
        yield f"{INDENT}domain {self._isl.written_after(statement.domain)}"
        yield f"{INDENT}write {self._access(statement.write)}"
        self._statement, self._types.reads = statement, statement.reads
        self._labels = labels(read.array for read in statement.reads)
        yield from (f"{INDENT}read {quoted(name)} {self._access(read)}" for name, read in zip(self._labels, statement.reads))
        self._write.fresh()
        value = self._write.written(statement.value)
        yield from (INDENT + line for line in (*self._write.lets, f"value {value}"))

    def _access(self, access: Access) -> str:
        found = subscripts(access.relation)
        relation = self._isl.written_after(access.relation)
        same = found is not None and list(map(str, found)) == list(map(str, access.subscripts))
        by = "" if same else f" by {', '.join(map(self._isl.written_after, access.subscripts))}"
        return f"{relation}{by}{' perhaps' if access.may else ''}{self._at(access.loc)}"

    def _leaf(self, value: Expr, inside: list[Printed]) -> Printed:
        match value:
            case Load():
                return Printed(quoted(self._labels[value.access]))
            case Index():
                return Printed(self._isl.expression(value.value, self._statement.name, self._statement.iterators))
            case ScalarArg():
                return Printed(f"{'arg ' if value.name in self._labels else ''}{quoted(value.name)}")
            case Gather():
                return Printed(f"{quoted(value.array)}{'!' if value.inside else ''}[{', '.join(each.text for each in inside)}]")
        raise TypeError(f"not a value of a statement: {value!r}")

    def _check(self, check: Check) -> Iterator[str]:
        of = self._isl.written
        dim = f" dim {check.dim}" if check.dim else ""
        perhaps = " perhaps" if check.may else ""
        yield f"check {check.kind}[{', '.join(check.iterators)}] {string(check.what)}{dim}{perhaps}{self._at(check.loc)}"
        yield f"{INDENT}violated {of(check.violated)}"
        yield f"{INDENT}instances {self._isl.written_after(check.instances)}"
        for name in ("subscript", "size"):
            if getattr(check, name) is not None:
                yield f"{INDENT}{name} {of(getattr(check, name))}"


def subscripts(relation: isl.Map) -> tuple[isl.PwAff, ...] | None:
    """Returns the subscripts that isl finds in an access relation; None where the relation is no function."""
    try:
        return tuple(polyhedra.subscripts_of(relation))
    except isl.Error:
        return None


def _parameter(parameter: Parameter) -> str:
    if parameter.array is None:
        return f"{parameter.name} = {quoted(parameter.argument)}" if parameter.argument else parameter.name
    dim = f"[{parameter.dim}]" if not parameter.extreme or parameter.dim else ""
    what = f"{parameter.extreme}()" if parameter.extreme else "shape"
    argument = "" if parameter.argument == parameter.array else f" for {quoted(parameter.argument)}"
    return f"{parameter.name} = {quoted(parameter.array)}.{what}{dim}{argument}"


def _result(result: ScalarResult | ArrayResult) -> str:
    if isinstance(result, ArrayResult):
        return quoted(result.array)
    return f"{quoted(result.array)}: {result.dtype}{'' if result.whole is None else f' of {result.whole}'}"
