"""Elements of sets and relations: all of them, a smallest one, or a few, and their text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, Union

import islpy as isl

from polyml.polyhedra.parameters import fix, without_sizes
from polyml.polyhedra.spaces import parameter_names, tuple_names
from polyml.polyhedra.unions import pieces

_D = isl.dim_type

Instance = tuple[str, tuple[int, ...]]
_Relation = Union[isl.Set, isl.Map, isl.UnionSet, isl.UnionMap]


def points(value: _Relation, **sizes: int) -> set[Any]:  # of Instance for sets, of pairs of them for relations
    """Returns all elements of a set or relation for the given sizes.

    Those of a set are {("S", (1, 2)), ...}, those of a relation {(("S", (1, 2)), ("A", (3,))), ...}.

    value: a Set, Map, UnionSet or UnionMap that is finite for these sizes; a parameter without a size is projected out
    """
    if isinstance(value, (isl.Map, isl.UnionMap)):
        value = value.wrap()
    return set(chain.from_iterable(_piece_points(piece, sizes) for piece in pieces(value)))


def _piece_points(piece: isl.Set, sizes: Mapping[str, int]) -> Iterator:
    fixed = fix(piece, sizes)
    fixed = fixed.project_out(_D.param, 0, fixed.dim(_D.param))
    if not fixed.is_bounded():
        raise ValueError(f"not finite for the sizes {dict(sizes)}: {piece}")
    names, coordinates = tuple_names(piece.get_space()), _all_coordinates(fixed.flatten().reset_tuple_id())
    if len(names) == 1:
        return zip(repeat(names[0]), coordinates)
    split = piece.get_space().unwrap().dim(_D.in_)
    sources, sinks = (_Named(name) for name in names)
    return ((sources[each[:split]], sinks[each[split:]]) for each in coordinates)


class _Named(dict[tuple[int, ...], Instance]):
    """The elements of one tuple name by their coordinates, each made once: relations have the same elements in many pairs."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __missing__(self, coordinates: tuple[int, ...]) -> Instance:
        return self.setdefault(coordinates, (self._name, coordinates))


def _all_coordinates(plain: isl.Set) -> Iterator[tuple[int, ...]]:
    """Yields the coordinates of each point of a bounded set without a name, from the text `{ [1, -2] }` of the point: asking isl for one number
    after the other takes ten times as long.

    Raises isl.Error where isl has no text of a point, since its operations are used up: an error inside of the callback would be printed.
    """
    texts: list[str] = []
    failures: list[Exception] = []

    def add(point: isl.Point) -> None:
        try:
            texts.append(point.to_str()[3:-3])
        except (isl.Error, TypeError) as error:  # a point without memory, or a text that is None
            failures.append(error)

    plain.foreach_point(add)
    if failures:
        raise isl.Error("a point has no text") from failures[0]
    dims = plain.dim(_D.set)
    numbers = iter(json.loads(f"[{','.join(texts)}]")) if dims else iter(())
    return zip(*[numbers] * dims) if dims else repeat((), len(texts))


def _coordinates(point: isl.Point, dims: int) -> tuple[int, ...]:
    return tuple(point.get_coordinate_val(_D.set, k).to_python() for k in range(dims))


def _labeller(space: isl.Space) -> Callable[[tuple[int, ...]], Any]:  # Any: as in `points`
    """Returns a function from the coordinates of an element to the element with the names of its tuples, as `points` returns it.

    It maps (1, 2) to ("S", (1, 2)) in a set, and (1, 2, 3) to (("S", (1, 2)), ("A", (3,))) in a wrapped relation.
    """
    names = tuple_names(space)
    if len(names) == 1:
        return lambda c: (names[0], c)
    split = space.unwrap().dim(_D.in_)
    return lambda c: ((names[0], c[:split]), (names[1], c[split:]))


@lru_cache(maxsize=8192)
def instance_text(instance: Instance) -> str:
    """Returns an instance as isl writes it: ("S", (1, 2)) is "S[1, 2]"."""
    name, coordinates = instance
    return f"{name}[{', '.join(map(str, coordinates))}]"


@dataclass(frozen=True)
class Witness:
    """A Witness is one element of a set or relation for some values of the parameters, as an example for a message.

    instances: one element of a set; source and sink of a relation
    sizes: pairs (parameter, value)
    """

    instances: tuple[Instance, ...]
    sizes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        text = " -> ".join(instance_text(i) for i in self.instances)
        return text if not self.sizes else f"{text} with {', '.join(f'{n} = {v}' for n, v in self.sizes)}"


def witness(value: _Relation) -> Witness | None:
    """Returns a smallest element of a set or relation, and the smallest sizes at which it has one; None where it is always empty.

    The parameters are made as small as possible first, then the element lexicographically. Where there is no smallest one (the set
    is unbounded below), some element is returned.

    value: a Set, Map, UnionSet or UnionMap
    """
    if isinstance(value, (isl.Map, isl.UnionMap)):
        value = value.wrap()
    best = None
    for piece in pieces(value):
        if piece.is_empty():
            continue
        found = _piece_witness(piece)
        if best is None or _size_order(found) < _size_order(best):
            best = found
    return best


def _size_order(found: Witness) -> tuple:
    return (sum(abs(v) for _, v in found.sizes), found.instances)


def _piece_witness(piece: isl.Set) -> Witness:
    names = parameter_names(piece)
    flat = piece.move_dims(_D.set, 0, _D.param, 0, len(names)) if not piece.get_space().is_wrapping() else None
    if flat is None:
        flat = piece.flatten().move_dims(_D.set, 0, _D.param, 0, len(names))
    values = _coordinates(_least(flat), flat.dim(_D.set))
    sizes = tuple((n, v) for n, v in zip(names, values) if piece.involves_dims(_D.param, names.index(n), 1))
    found = _labeller(piece.get_space())(values[len(names) :])
    return Witness(found if isinstance(found[0], tuple) else (found,), sizes)


def _least(flat: isl.Set) -> isl.Point:
    """Returns the lexicographically first point of a nonempty set; some point where there is no first one, or isl fails to find it.

    The first points of the conjunctions are found one by one and compared here; isl would compare whole conjunctions.
    """
    dims = flat.dim(_D.set)
    try:
        least = [isl.Set.from_basic_set(basic).lexmin().sample_point() for basic in flat.get_basic_sets() if not basic.is_empty()]
        found = min(least, key=lambda point: () if point.is_void() else _coordinates(point, dims))
    except isl.Error as error:
        if not any(
            known in str(error) for known in ("unbounded", "involves some of the domain dimensions")
        ):  # the last: isl's own fault
            raise
        return flat.sample_point()
    return flat.sample_point() if found.is_void() else found  # isl may lose it where several divisions meet


def text(value: _Relation) -> str:
    """Returns a set or relation in isl's syntax for people: one line per pair of tuple names, without the list of parameters.

    S0[i] -> S1[j] : 0 <= i < N and j = i
    """
    lines = []
    for piece in pieces(value):
        full = str(piece.coalesce())
        lines.append(full[full.index("{") + 1 : full.rindex("}")].strip())
    return "\n".join(lines) if lines else "(empty)"


def first_image(relation: isl.Map, domain: isl.Set) -> tuple[int, ...]:
    """Returns the coordinates of A[e] in { S[i] -> A[e] } for the lexicographically first instance S[i] of the domain."""
    image = domain.lexmin().apply(relation)
    return _coordinates(image.sample_point(), image.dim(_D.set))


def only_point(values: isl.Set) -> tuple[int, ...] | None:
    """Returns the coordinates of the only element of a set, where it is the same for all parameters; else None.

    >>> only_point(isl.Set("[N] -> { [i, j] : 0 <= i < N and i < 1 and j = 3 }")), only_point(isl.Set("[N] -> { [N] }"))
    ((0, 3), None)
    """
    known = without_sizes(values)
    if known.is_empty() or not known.is_singleton():
        return None
    return _coordinates(known.sample_point(), known.dim(_D.set))


def few_points(values: isl.Set, most: int) -> tuple[tuple[int, ...], ...]:
    """Returns the sorted coordinates of the elements that a set has for any parameters; () where it has none, or more than `most`.

    >>> few_points(isl.Set("[N] -> { [i, N - N] : 0 <= i < 2 or i = N and 3 < N < 5 }"), 3)
    ((0, 0), (1, 0), (4, 0))
    """
    found: list[tuple[int, ...]] = []
    rest = without_sizes(values)
    while not rest.is_empty():
        if len(found) == most:
            return ()
        point = rest.sample_point()
        found.append(_coordinates(point, rest.dim(_D.set)))
        rest = rest.subtract(isl.Set.from_point(point))
    return tuple(sorted(found))
