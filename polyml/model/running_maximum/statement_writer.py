"""New statements and arrays for sums in blocks of columns, as they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import islpy as isl

from polyml import polyhedra
from polyml.model.core.nest import map_leaves
from polyml.model.core.scop import Access, Array, Index, Role, Scop, Statement, Value
from polyml.model.running_maximum.corrected_sums import CorrectedSums
from polyml.model.running_maximum.roles import Member, Place

BLOCK = 256  # columns: the cost of a correction is that of about two columns


@dataclass
class StatementWriter:
    """The new statements and arrays of one group, as they are made.

    blocks: how many blocks of columns there are, an expression in the parameters.
    """

    scop: Scop
    group: CorrectedSums
    blocks: isl.PwAff
    arrays: dict[str, Array] = field(default_factory=dict)
    statements: dict[str, Statement] = field(default_factory=dict)

    def array(self, wanted: str, more: tuple[isl.PwAff, ...]) -> Array:
        """Adds a local array with an element for each row and more dimensions, and returns it."""
        maximum = self.group.maximum.statement
        old = self.scop.arrays[maximum.write.array]
        places = self.group.maximum.places(maximum.write) or ()
        rows = {place[1]: extent for place, extent in zip(places, old.shape) if place[0] == "row"}
        taken = {*self.scop.arrays, *self.arrays, *self.scop.params, *(p.name for p in self.scop.parameters)}
        name = next(n for k in count() if (n := f"{wanted}_{k}" if k else wanted) not in taken)
        shape = (*(rows[k] for k in range(len(rows))), *more)
        self.arrays[name] = replace(old, name=name, shape=shape, role=Role.LOCAL, source_name=wanted, loc=None)
        return self.arrays[name]

    def name(self) -> str:
        taken = {*self.scop.statements, *self.statements}
        return next(n for k in count(len(self.scop.statements)) if (n := f"S{k}") not in taken)

    def over(self, member: Member, dims: Sequence[int], blocks: bool) -> tuple[str, tuple[str, ...], isl.Set]:
        """Returns the name, iterators and domain of a new statement that runs over some loops of another one: its rows, then the
        blocks where there are to be, then the others of `dims`.
        """
        name, old = self.name(), member.statement
        inner = [k for k in dims if k not in member.rows]
        known = [old.iterators[k] for k in (*member.rows, *inner)]
        block = _fresh("b", old.iterators)
        ordered = [*known[: len(member.rows)], *([block] if blocks else []), *known[len(member.rows) :]]
        into = isl.Map(f"{{ {old.name}[{', '.join(old.iterators)}] -> {name}[{', '.join(ordered)}] }}")
        domain = old.domain.apply(into)
        if blocks:
            number, limit = (_expression(name, ordered, value) for value in (block, self.blocks))
            domain = domain.intersect(number.lt_set(limit)).intersect(isl.Set(f"{{ {name}[{', '.join(ordered)}] : {block} >= 0 }}"))
        return name, tuple(ordered), polyhedra.with_iterators(domain.coalesce(), ordered)

    def written(self, member: Member, name: str, iterators: Sequence[str]) -> Access:
        """Returns the access of a new statement to what a member writes in the same row, which is the same element for all columns.

        iterators: of the new statement; the first ones count rows, and others of the member have the same names.
        """
        old = member.statement
        back = [it if it in iterators and k in member.others else "0" for k, it in enumerate(old.iterators)]
        for row, it in zip(member.rows, iterators):
            back[row] = it
        return _pulled_back(old.write, isl.MultiAff(f"{{ {name}[{', '.join(iterators)}] -> {old.name}[{', '.join(back)}] }}"))

    def blocked(self, member: Member) -> Blocked:
        """Returns how a statement over columns becomes one over blocks of them and the columns of a block."""
        name, old = self.name(), member.statement
        block, inside = _fresh("b", old.iterators), old.iterators[member.column]
        ordered = [*(old.iterators[k] for k in member.rows), block, inside, *(old.iterators[k] for k in member.others)]
        back = [f"{BLOCK}*{block} + {inside}" if k == member.column else it for k, it in enumerate(old.iterators)]
        from_new = isl.MultiAff(f"{{ {name}[{', '.join(ordered)}] -> {old.name}[{', '.join(back)}] }}")
        limits = isl.Set(f"{{ {name}[{', '.join(ordered)}] : {block} >= 0 and 0 <= {inside} < {BLOCK} }}")
        domain = old.domain.preimage_multi_aff(from_new).intersect(limits).coalesce()
        return Blocked(name, tuple(ordered), polyhedra.with_iterators(domain, ordered), from_new)

    def add(self, statement: Statement) -> str:
        self.statements[statement.name] = statement
        return statement.name


@dataclass(frozen=True)
class Blocked:
    """The name, iterators and domain of a statement over blocks, and which instance of the old one each of its instances is."""

    name: str
    iterators: tuple[str, ...]
    domain: isl.Set
    from_new: isl.MultiAff

    def access(self, access: Access) -> Access:
        """Returns an access of the old statement as one of the new one."""
        return _pulled_back(access, self.from_new)

    def so_far(self, best: Array, rows: int) -> Access:
        """Returns the access to the maximum of the blocks up to this one. rows: how many iterators count rows."""
        now = (*self.iterators[:rows], f"{self.iterators[rows]} + 1")
        return access_to(self.name, self.iterators, self.domain, best.name, now)

    def value(self, value: Value) -> Value:
        return map_leaves(
            value,
            lambda leaf: replace(leaf, value=leaf.value.pullback_multi_aff(self.from_new)) if isinstance(leaf, Index) else leaf,
        )


def access_to(
    name: str, iterators: Sequence[str], domain: isl.Set, array: str, subscripts: Sequence[str | int | isl.PwAff]
) -> Access:
    """Returns an access of a new statement. subscripts: as texts over its iterators, numbers, or expressions in the parameters."""
    found = [_expression(name, iterators, subscript) for subscript in subscripts]
    relation = polyhedra.relation(domain.get_space(), array, found)
    return Access(array=array, relation=polyhedra.rename_domain(relation, name), subscripts=tuple(found))


def _pulled_back(access: Access, from_new: isl.MultiAff) -> Access:
    """Returns an access of a statement as one of another statement. from_new: { T[i] -> S[f(i)] }, to the statement that has it."""
    subscripts = tuple(s.pullback_multi_aff(from_new) for s in access.subscripts)
    return replace(access, relation=access.relation.preimage_domain_multi_aff(from_new), subscripts=subscripts)


def _expression(name: str, iterators: Sequence[str], value: str | int | isl.PwAff) -> isl.PwAff:
    """Returns a text over the iterators of a statement, a number or { [] -> [(e)] } as { S[i] -> [(e)] }."""
    instance = f"{name}[{', '.join(iterators)}]"
    if isinstance(value, isl.PwAff):
        return value.pullback_multi_aff(isl.MultiAff(f"{{ {instance} -> [] }}"))
    return isl.PwAff(f"{{ {instance} -> [({value})] }}")


def _fresh(wanted: str, taken: Sequence[str]) -> str:
    return next(n for k in count() if (n := f"{wanted}{k}" if k else wanted) not in taken)


def named(places: Sequence[Place], rows: Sequence[str]) -> list[str | int]:
    """Returns subscripts of an element of a row by their places, as texts. rows: the iterators of rows."""
    return [rows[k] if kind == "row" else k for kind, k in places]
