"""What a picture of a notebook has to show: computed in the notebook's process from the isl objects of what is drawn, without the code that draws.

Instances, places in the order and tiles are those of isl's sets and schedule tree; dependences are found by going through all accesses
in plain Python.
"""

from __future__ import annotations

import json

import islpy as isl

import polyml
from polyml.polyhedra.points import points
from tests.pictures.test_nests import direct, text

NESTS = ("domain", "dependences", "schedule", "tiles", "order", "threads", "wavefronts")  # subjects that show instances
FILMS = ("comparison", "replay")  # that show the source's order first, and the schedule last
USUAL = 6  # of a size that is not given


def tell(of: object, what: str = "domain", sizes: dict[str, int] | None = None, **options: str) -> None:
    """Prints what `polyml.plot(of, what, sizes)` has to show, as a line of JSON: the facts of its first and last picture, or of
    its only one; null for pictures of arrays, caches and trees, which have no instances.
    """
    if what in FILMS:
        schedule = of.schedule() if isinstance(of, polyml.Kernel) else of
        found = facts(schedule, "tiles", sizes or {})
        first = in_order(schedule.problem.scop.schedule, schedule.problem.scop, found["sizes"])
        print(json.dumps([{**found, "times": first, "tiles": []}, found]))
        return
    print(json.dumps([facts(of, what, sizes or {})] if what in NESTS else None))


def facts(of: object, what: str, sizes: dict[str, int]) -> dict:
    """The facts of a picture: instances, and where they are its subject arrows, times and tiles."""
    schedule = of
    if isinstance(of, polyml.Kernel):
        schedule = of.schedule("source") if what in ("domain", "dependences") else of.schedule()
    scop = schedule.problem.scop
    names = [scop.domain.get_space().get_dim_name(isl.dim_type.param, k) for k in range(scop.domain.dim(isl.dim_type.param))]
    values = {name: sizes.get(name, USUAL) for name in names}
    found = {"what": what, "sizes": values, "instances": sorted(text(each) for each in points(scop.domain, **values))}
    if what == "dependences":
        found["arrows"] = sorted(direct(scop, values))
    if what not in ("domain", "dependences"):
        found["times"] = in_order(schedule.tree, scop, values)
    if what == "tiles":
        found["tiles"] = sorted(sorted(map(text, tile)) for tile in tiles(schedule.tree, values))
    return found


def in_order(tree: isl.Schedule, scop, values: dict[str, int]) -> list[str]:
    """The instances in the order of a schedule tree."""
    order = points(tree.get_map().intersect_domain(scop.domain), **values)
    return [text(instance) for instance, _ in sorted(order, key=lambda pair: pair[1][1])]


def tiles(tree: isl.Schedule, values: dict[str, int]) -> list[list[tuple[str, tuple[int, ...]]]]:
    """The tiles of a schedule tree: the instances of a statement for which all bands under marks of tiles have the same values."""
    return [tile for statement in leaves(tree.get_root(), ()) for tile in grouped(statement, values)]


def leaves(node: isl.ScheduleNode, bands: tuple[isl.UnionMap, ...], is_tile: bool = False):
    """Yields, for each leaf of the tree, its instances and the bands of tiles above it."""
    kind = node.get_type()
    if kind == isl.schedule_node_type.mark:
        yield from leaves(node.child(0), bands, "tile" in node.mark_get_id().get_name())
    elif kind == isl.schedule_node_type.band:
        own = (node.band_get_partial_schedule_union_map(),) if is_tile else ()
        yield from leaves(node.child(0), (*bands, *own))
    elif kind == isl.schedule_node_type.leaf:
        yield node.get_domain(), bands
    else:
        for number in range(node.n_children()):
            yield from leaves(node.child(number), bands)


def grouped(statement: tuple[isl.UnionSet, tuple[isl.UnionMap, ...]], values: dict[str, int]):
    """Yields the instances of each tile of a leaf; none where no band of tiles is above it."""
    domain, bands = statement
    numbers: dict[tuple[str, tuple[int, ...]], list] = {}
    for band in bands:
        for instance, (_, number) in points(band.intersect_domain(domain), **values):
            numbers.setdefault(instance, []).append(number)
    found: dict[tuple, list] = {}
    for instance, key in numbers.items():
        found.setdefault((instance[0], *key), []).append(instance)
    yield from found.values()
