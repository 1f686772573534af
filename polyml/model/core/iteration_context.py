"""The loops and guards around a statement as one set, with quick bounds that spare isl most proofs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.nest import Guard, Loop
from polyml.polyhedra import Frame
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine, Condition
from polyml.quasi_affine.to_isl import to_pw_aff, to_set
from polyml.source import Loc
from polyml.values import cached_property

LONG_STEP = 128  # three of four tiles of 32 values would be empty; tiles in the source have shorter steps, too


@dataclass(frozen=True, eq=False)
class ParameterContext:
    """A ParameterContext holds the parameters of a kernel, and what is known of them everywhere in it.

    names: all parameters
    sizes: the parameters that are never negative
    numbered: what sets of iterations have for a loop with a long step, such as range(0, N, 100): if True the numbers of its
        iterations, 0, 1, 2; if False the values of its variable, 0, 100, 200
    """

    names: tuple[str, ...]
    sizes: frozenset[str]
    numbered: bool = False

    @cached_property
    def facts(self) -> isl.Set:
        """Returns the parameter set { : N >= 0 and ... }, in which no size is negative."""
        frame = Frame(self.names, ())
        result = frame.universe()
        for name in self.names:
            if name in self.sizes:
                result = result.intersect(to_set(af.non_negative(af.variable(name)), frame))
        return result.params()


@dataclass(frozen=True, eq=False)
class IterationContext:
    """An IterationContext describes the loops and guards around a point of the program: the iterations that come there.

    domain: { [iterators] : bounds and conditions }, without a tuple name
    bounds: iterator -> (minimum, maximum), affine in the iterators outside its loop and the parameters
    values: iterator -> its value, such as 100*i, where i is the number of the iteration: for the iterators whose dimension of
        `domain` has such numbers (`ParameterContext.numbered`)
    places: where the loops around stand in the source, outermost first
    """

    parameters: ParameterContext
    iterators: tuple[str, ...]
    domain: isl.Set
    bounds: Mapping[str, tuple[Affine, Affine]] = field(default_factory=dict)
    values: Mapping[str, Affine] = field(default_factory=dict)
    places: tuple[Loc | None, ...] = ()
    _known: dict = field(default_factory=dict, repr=False)

    @cached_property
    def frame(self) -> Frame:
        """Returns the space [parameters] -> { [iterators] } of the domain."""
        return Frame(self.parameters.names, self.iterators)

    def frame_for(self, value: Affine | Condition) -> Frame:
        """Returns the space of the domain, and with it those parameters that only `value` mentions, such as sizes in checks."""
        more = sorted(value.names - set(self.parameters.names) - set(self.iterators))
        if not more:
            return self.frame
        key = tuple(more)
        if key not in self._known:
            self._known[key] = Frame((*self.parameters.names, *more), self.iterators)
        return self._known[key]

    def set(self, formula: Condition) -> isl.Set:
        """Returns the set { [iterators] : formula }, also of points outside the domain."""
        if self.values:
            formula = formula.substitute(self.values)
        return to_set(formula, self.frame_for(formula))

    def pw_aff(self, value: Affine) -> isl.PwAff:
        """Returns an affine value as the expression { [iterators] -> [(value)] }."""
        if self.values:
            value = value.substitute(self.values)
        return to_pw_aff(value, self.frame_for(value))

    @cached_property
    def assumed(self) -> isl.Set:
        """Returns the domain, restricted to sizes that are not negative."""
        return self.domain.intersect_params(self.parameters.facts)

    @cached_property
    def is_empty(self) -> bool:
        """Returns whether no iteration comes to this point of the program when no size is negative."""
        return self.assumed.is_empty()

    def inside(self, node: Loop | Guard) -> IterationContext:
        """Returns the context of the body of a loop or guard that stands in this context."""
        return self.loop(node) if isinstance(node, Loop) else self.within(node.condition)

    def within(self, formula: Condition) -> IterationContext:
        """Returns the context of the body of a guard with the condition `formula`, which stands in this context."""
        if formula not in self._known:
            self._known[formula] = self._within(formula)
        return self._known[formula]

    def loop(self, loop: Loop) -> IterationContext:
        """Returns the context of the body of a loop that stands in this context."""
        key = (loop.iterator, loop.start, loop.stop, loop.step, id(loop.loc))
        if key not in self._known:
            self._known[key] = self._loop(loop)
        return self._known[key]

    def _within(self, formula: Condition) -> IterationContext:
        return replace(self, domain=self.domain.intersect(self.set(formula)), _known={})

    def _loop(self, loop: Loop) -> IterationContext:
        iterators = (*self.iterators, loop.iterator)
        bounds = dict(self.bounds)
        first, last = loop.start, loop.stop - (1 if loop.step > 0 else -1)
        bounds[loop.iterator] = (first, last) if loop.step > 0 else (last, first)
        values = self.values
        if self.parameters.numbered and abs(loop.step) >= LONG_STEP:
            start = loop.start.substitute(values) if values else loop.start
            values = {**values, loop.iterator: _numbered_values(loop.iterator, start, abs(loop.step))}
        outside = polyhedra.extend(self.domain, loop.iterator)
        inner = IterationContext(self.parameters, iterators, outside, bounds, values, (*self.places, loop.loc))
        return replace(inner, domain=outside.intersect(inner.set(_range(loop, loop.iterator in values))), _known={})

    def minimum(self, value: Affine) -> Affine | None:
        """Returns an affine expression in parameters that `value` is never below in this context; None where none is found."""
        return self._parametric_bound(value, 0)

    def maximum(self, value: Affine) -> Affine | None:
        """Returns an affine expression in parameters that `value` never exceeds in this context; None where none is found."""
        return self._parametric_bound(value, 1)

    def _parametric_bound(self, value: Affine, side: int) -> Affine | None:
        """Returns a bound of `value` in parameters alone; None where none is found.

        side: 0 for a lower bound, 1 for an upper one
        """
        for _ in range(8):
            inner = [(a, c) for a, c in value.terms if not isinstance(a, str) or a in self.bounds]
            if not inner:
                return value
            for atom, coefficient in inner:
                bound = self._atom_bound(atom, side if coefficient > 0 else 1 - side)
                if bound is None:
                    return None
                value = value - Affine(0, ((atom, coefficient),)) + bound * coefficient
        return None

    def _atom_bound(self, atom: af.Atom, side: int) -> Affine | None:
        if isinstance(atom, str):
            return self.bounds[atom][side]
        if isinstance(atom, af.Extremum) and side == (1 if atom.op == "min" else 0):
            return atom.operands[0]
        return None

    def is_never_negative(self, value: Affine) -> bool:
        """Returns whether a quick test proves that value >= 0 in this context; False does not say that it may be negative."""
        least = self.minimum(value)
        return least is not None and least.constant >= 0 and all(c > 0 and a in self.parameters.sizes for a, c in least.terms)

    def is_below(self, value: Affine, size: Affine) -> bool:
        """Returns whether a quick test proves that value < size in this context; False does not say that it may be larger."""
        greatest = self.maximum(value)
        if greatest is None:
            return False
        room = size - greatest - 1
        return room.constant >= 0 and all(c > 0 and a in self.parameters.sizes for a, c in room.terms)


def outermost(parameters: ParameterContext) -> IterationContext:
    """Returns the context of the program outside all loops and guards."""
    return IterationContext(parameters, (), Frame(parameters.names, ()).universe())


def _numbered_values(iterator: str, start: Affine, step: int) -> Affine:
    """Returns the values of a loop's variable as an affine function of its iteration number, which is called `iterator`.

    Where the start modulo the step is one constant, the value is step * number + that remainder, so that loops with the same step
    have the same number for the same value. Otherwise it is start + step * number.
    """
    rest = {c % step for _, c in start.terms}
    begin = start if rest - {0} else Affine(start.constant % step)
    return begin + Affine(0, ((iterator, step),))


def _range(loop: Loop, numbered: bool) -> Condition:
    """Returns the condition that a loop's iterator is a value of its `range(start, stop, step)`.

    numbered: whether the iterator is computed from the number of the iteration, so that only values with the right step occur; the
        condition then has the two ends alone
    """
    here = af.variable(loop.iterator)
    if loop.step > 0:
        ends = (af.compare(">=", here, loop.start), af.compare("<", here, loop.stop))
    else:
        ends = (af.compare("<=", here, loop.start), af.compare(">", here, loop.stop))
    if numbered or abs(loop.step) == 1:
        return af.conjunction(*ends)
    return af.conjunction(*ends, af.zero(af.modulo(here - loop.start, abs(loop.step))))
