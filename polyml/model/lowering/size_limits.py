"""How large the numbers of a call may be so that every integer of its loops stays inside 64 bits.

Loops, subscripts, conditions and affine values are computed in 64 bits without a test. An upper bound of each follows from limits
of sizes and integer arguments; the entry tests these limits, and a call beyond them runs as plain Python. A kernel whose
constants leave no room is not compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polyml.errors import NotAffineError
from polyml.model.core.call_interface import ENDLESS
from polyml.model.core.nest import Assign, Guard, Integer, Loop, Nest, Node, Read, Requirement, Truth, subvalues
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine, Condition
from polyml.source import Loc

LIMITS = tuple(2**bits for bits in (40, 36, 32, 28, 24, 20, 16))  # the first that suffices is taken
COMPARED_LIMIT = 2**60  # of numbers that are only compared, or are an array's size
ROOM = 2**61  # the rest is for what schedules add: ends of tiles, and skewed loops

Range = tuple[int, int]  # the least and the greatest value


def limits(nests: Iterable[Nest], names: Iterable[str], structural: frozenset[str]) -> dict[str, int]:
    """Returns for each symbolic integer the largest absolute value that it may have so that no integer of the nests leaves 64 bits.

    Raises NotAffineError where no limits suffice.

    nests: forms of a kernel, all of whose integers must fit
    names: the symbolic integers
    structural: those of them from which subscripts and bounds are computed; the others get a larger limit
    """
    nests, names = tuple(nests), tuple(names)
    ends = {p.name: ENDLESS for nest in nests for p in nest.parameters if p.found}
    for limit in LIMITS:
        found = {name: limit if name in structural else COMPARED_LIMIT for name in names} | ends
        try:
            for nest in nests:
                _RangeAnalysis(nest, {name: (-most, most) for name, most in found.items()}).check()
        except _TooGreat as problem:
            too_great = problem
        else:
            return found
    raise NotAffineError(
        f"{too_great.what} may leave 64 bits",
        loc=too_great.loc,
        notes=["polyml compiles loops whose integers fit 64 bits for all sizes and numbers up to 2**16"],
        code="PML-F041",
    )


def names_in_extents(nest: Nest) -> frozenset[str]:
    """Returns the names in those array sizes that are expressions, such as N + 1 or 2*N, and not just a name."""
    shapes = (extent for array in nest.arrays.values() for extent in array.shape)
    return frozenset().union(*(e.names for e in shapes if e.constant or len(e.terms) > 1 or any(c != 1 for _, c in e.terms)))


class _TooGreat(Exception):
    """_TooGreat is raised for an integer that may leave 64 bits.

    what: the integer's description, for a message
    """

    def __init__(self, what: str, loc: Loc | None):
        self.what, self.loc = what, loc


class _RangeAnalysis:
    """A _RangeAnalysis bounds the integers of one nest by interval arithmetic.

    ranges: (least value, greatest value) of each symbolic integer
    """

    def __init__(self, nest: Nest, ranges: dict[str, Range]):
        self._nest, self._ranges = nest, ranges

    def check(self) -> None:
        """Raises _TooGreat for the first integer of the nest that may leave 64 bits."""
        for array in self._nest.arrays.values():
            for extent in array.shape:
                self._affine(extent, self._ranges, f"a size of `{array.source_name}`", array.loc)
        self._block(self._nest.body, self._ranges)
        for requirement in self._nest.requirements:
            self._requirement(requirement)

    def _block(self, body: tuple[Node, ...], ranges: Mapping[str, Range]) -> None:
        for node in body:
            if isinstance(node, Loop):
                self._block(node.body, {**ranges, node.iterator: self._loop(node, ranges)})
            elif isinstance(node, Guard):
                self._formula(node.condition, ranges, None)
                self._block(node.body, ranges)
            else:
                self._assign(node, ranges)

    def _requirement(self, requirement: Requirement) -> None:
        ranges = self._ranges
        for around in requirement.around:
            if isinstance(around, Loop):
                ranges = {**ranges, around.iterator: self._loop(around, ranges)}
        self._formula(requirement.condition, ranges, requirement.loc)

    def _loop(self, loop: Loop, ranges: Mapping[str, Range]) -> Range:
        what = "the variable of this loop"
        start, stop = (self._affine(end, ranges, what, loc=loop.loc) for end in (loop.start, loop.stop))
        first, last = (start[0], stop[1]) if loop.step > 0 else (stop[0], start[1])
        _within((first - abs(loop.step), last + abs(loop.step)), what, loop.loc)
        return min(first, start[1]), max(last, start[0])

    def _assign(self, assign: Assign, ranges: Mapping[str, Range]) -> None:
        for subscript in assign.subscripts:
            self._affine(subscript, ranges, "a subscript", assign.target_loc or assign.loc)
        for part in subvalues(assign.value):
            loc = getattr(part, "loc", None) or assign.loc
            if isinstance(part, Read):
                for subscript in part.subscripts:
                    self._affine(subscript, ranges, "a subscript", loc)
            elif isinstance(part, Integer) and not part.affine.is_constant:
                self._affine(part.affine, ranges, "an integer", loc)
            elif isinstance(part, Truth):
                self._formula(part.formula, ranges, loc)

    def _formula(self, formula: Condition, ranges: Mapping[str, Range], loc: Loc | None) -> None:
        if isinstance(formula, af.Compare):
            self._affine(formula.expr, ranges, "an integer that is compared", loc)
            return
        for part in formula.parts:
            self._formula(part, ranges, loc)

    def _affine(self, value: Affine, ranges: Mapping[str, Range], what: str, loc: Loc | None) -> Range:
        low = high = value.constant
        for atom, coefficient in value.terms:
            least, most = ranges[atom] if isinstance(atom, str) else self._atom(atom, ranges, what, loc)
            low += coefficient * (least if coefficient > 0 else most)
            high += coefficient * (most if coefficient > 0 else least)
        return _within((low, high), what, loc)

    def _atom(self, atom: af.FloorDiv | af.Extremum | af.Choice, ranges: Mapping[str, Range], what: str, loc: Loc | None) -> Range:
        if isinstance(atom, af.FloorDiv):
            low, high = self._affine(atom.operand, ranges, what, loc)
            return low // atom.divisor, high // atom.divisor
        if isinstance(atom, af.Extremum):
            lows, highs = zip(*(self._affine(each, ranges, what, loc) for each in atom.operands))
            pick = min if atom.op == "min" else max
            return pick(lows), pick(highs)
        self._formula(atom.condition, ranges, loc)
        then, orelse = (self._affine(each, ranges, what, loc) for each in (atom.then, atom.orelse))
        return min(then[0], orelse[0]), max(then[1], orelse[1])


def _within(found: Range, what: str, loc: Loc | None) -> Range:
    """Returns the range `found` unchanged. Raises _TooGreat where it has a value beyond ROOM, 2**61, in magnitude.

    what, loc: of the integer that has this range
    """
    if max(-found[0], found[1]) > ROOM:
        raise _TooGreat(what, loc)
    return found
