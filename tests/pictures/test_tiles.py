"""Outlines of tiles are those of the schedule: of all kernels of PolyBench, with the numbers of each tile computed in plain Python.

The numbers come from the texts of the bands below marks "tile" in isl's schedule tree. A tile is full where none of the points around its own ones,
inside of the domain or not, has the same numbers.
"""

import re
from itertools import product
from math import floor

import islpy as isl
import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.api.plotting.nest import nest_of
from polyml.pictures.nest_svg import nest_svg
from polyml.pictures.nests import nest_picture, parameters
from polyml.schedule.replay.nests import order_of
from polyml.schedule.tree import loop_tree
from tests.pictures.test_nests import SLOW, elements

SIZE = 4
SMALL = (("mod \\d+", "mod 3"), ("/\\d+\\)", "/2)"))  # tiles that small domains have several of


def automatic(name):
    found = kernels.load(name)
    arguments = found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype)
    return polyml.kernel(found.kernel.py_func, cache=False).schedule("auto", *arguments.values())


def with_small_tiles(tree):
    """The same schedule with tiles of two or three iterations."""

    def smaller(found):
        text = found[0]
        for old, new in SMALL:
            text = re.sub(old, new, text)
        return text

    return isl.Schedule.read_from_str(
        tree.get_ctx(), re.sub(r'mark: "loop \w+: [^"]*tile[^"]*", child: { schedule: "[^"]*"', smaller, str(tree))
    )


class Value:
    """The value of a band for the instances of one statement, { S[i] -> [(e)] : condition; ... }, as Python's expressions."""

    def __init__(self, pieces):
        self.names, self.pieces = pieces[0][0], [(compiled(value), compiled(condition)) for _, value, condition in pieces]
        self.used = {n for n, name in enumerate(self.names) if re.search(rf"\b{name}\b", " ".join(value for _, value, _ in pieces))}

    def at(self, point, sizes, anywhere=False):
        """The value at a point; with one piece also where the condition does not hold."""
        known = {**sizes, **dict(zip(self.names, point)), "floor": floor}
        values = [eval(value, known) for value, condition in self.pieces if anywhere or eval(condition, known)]
        (value,) = {*values}
        return value


def compiled(text):
    """An expression of isl as Python's: 2t is 2*t, (i) mod 3 is (i)%3, and = is ==."""
    text = re.sub(r"(\d)([A-Za-z(])", r"\1*\2", text).replace("mod", "%")
    return compile(re.sub(r"(?<![<>=])=", "==", text).strip() or "True", "<isl>", "eval")


def values_of(band) -> dict[str, Value]:
    found = {}
    text = str(band.band_get_partial_schedule().get_union_pw_aff(0))
    for piece in text[text.index("{") + 1 : text.rindex("}")].split(";"):
        name, iterators, value, condition = re.fullmatch(r"\s*(\w+)\[(.*?)\] -> \[\((.*)\)\](?: : (.*))?\s*", piece).groups()
        found.setdefault(name, []).append((iterators.split(", ") if iterators else [], value, condition or ""))
    return {name: Value(pieces) for name, pieces in found.items()}


def leaves(node, domain, tiles=()):
    """Yields (instances, the values of bands under marks "tile") for each leaf of a schedule tree."""
    kind = node.get_type()
    if kind == isl.schedule_node_type.filter:
        domain = domain.intersect(node.filter_get_filter())
    if kind == isl.schedule_node_type.band and node.get_tree_depth() and node.parent().get_type() == isl.schedule_node_type.mark:
        words = node.parent().mark_get_id().get_name().partition(": ")[2].split(", ")
        tiles = (*tiles, values_of(node)) if "tile" in words else tiles
    if node.n_children() == 0 or kind == isl.schedule_node_type.leaf:
        yield domain, tiles
        return
    for k in range(node.n_children()):
        yield from leaves(node.child(k), domain, tiles)


def points_of(domain, sizes):
    """{statement: its points}, by isl alone."""
    for name, value in sizes.items():
        domain = domain.intersect_params(isl.Set(f"[{name}] -> {{ : {name} = {value} }}"))
    found = {}

    def add(point):
        dims = point.get_space().dim(isl.dim_type.set)
        own = tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(dims))
        found.setdefault(point.get_space().get_tuple_name(isl.dim_type.set), set()).add(own)

    domain.foreach_point(add)
    return found


def tiles_in_python(tree, sizes):
    """{(statement, numbers, members as text): whether the tile is full}, of each leaf."""
    found = {}
    root = tree.get_root()
    for domain, tiles in leaves(root, root.domain_get_domain()):
        for name, points in points_of(domain, sizes).items():
            own = [values[name] for values in tiles]
            by_numbers = {}
            for point in points if own else ():
                by_numbers.setdefault(tuple(value.at(point, sizes) for value in own), set()).add(point)
            for numbers, members in by_numbers.items():
                found[name, numbers, frozenset(members)] = is_full(own, numbers, members, sizes)
    return found


def is_full(values, numbers, members, sizes):
    if any(len(value.pieces) > 1 for value in values):
        return False  # nothing says what its value is outside of the domain
    used = sorted({n for value in values for n in value.used})
    inside = {tuple(point[n] for n in used) for point in members}
    for point in members:
        for steps in product((-1, 0, 1), repeat=len(used)):
            moved = list(point)
            for n, step in zip(used, steps):
                moved[n] += step
            if tuple(moved[n] for n in used) not in inside and all(
                v.at(moved, sizes, anywhere=True) == number for v, number in zip(values, numbers)
            ):
                return False
    return True


def drawn_tiles(svg):
    found = {}
    for each in elements(svg, "tile"):
        numbers = tuple(map(int, each.get("data-tile").split(",")))
        members = [
            (name, tuple(map(int, filter(None, point.split(",")))))
            for name, point in re.findall(r"(\w+)\[([^]]*)\]", each.get("data-members"))
        ]
        (name,) = {name for name, _ in members}
        key = name, numbers, frozenset(point for _, point in members)
        full = each.get("data-full") == "true"
        assert key not in found and (each.get("stroke-dasharray") is None) == full
        found[key] = full
    return found


def pictured(schedule, tree, sizes):
    """The picture of the tiles of a kernel in an order, with all instances."""
    scop = schedule.problem.scop
    return nest_svg(
        nest_picture(nest_of(schedule, sizes), order_of(loop_tree.read(tree, scop.statements), scop), "tiles", most=10_000)
    )


def visible(tiles, svg):
    """The tiles of which a point is drawn: of more than three loops a picture has one iteration of the outermost ones."""
    shown = {each.get("data-instance").replace(" ", "") for each in elements(svg, "point")}
    return {key: full for key, full in tiles.items() if any(f"{key[0]}[{','.join(map(str, p))}]" in shown for p in key[2])}


def sides_drawn(svg):
    """{tile: the sides of its outline, each as (point, direction)}, of statements in one or two loops, from places in the picture alone."""
    places = {
        each.get("data-instance").replace(" ", ""): (float(each.get("cx")), float(each.get("cy")))
        for each in elements(svg, "point")
    }
    found = {}
    for each in elements(svg, "tile"):
        members = each.get("data-members").split()
        if members[0].count(",") > 1:
            continue
        sides = set()
        for x0, y0, x1, y1 in re.findall(r"M([-\d.]+),([-\d.]+)L([-\d.]+),([-\d.]+)", each.get("d")):
            x, y = (float(x0) + float(x1)) / 2, (float(y0) + float(y1)) / 2
            nearest = min(members, key=lambda member: (places[member][0] - x) ** 2 + (places[member][1] - y) ** 2)
            across, down = x - places[nearest][0], y - places[nearest][1]
            sides.add((nearest, (0, int(np.sign(across))) if abs(across) > abs(down) else (int(np.sign(down)), 0)))
        found[each.get("data-tile"), each.get("data-members")] = sides
    return found


def sides_expected(svg):
    """The same, of the points of the tiles: a side is where the point beside has another tile, or there is none."""
    found = {}
    for each in elements(svg, "tile"):
        members = [
            (name, tuple(map(int, point.split(",")))) for name, point in re.findall(r"(\w+)\[([^]]*)\]", each.get("data-members"))
        ]
        if len(members[0][1]) > 2:
            continue
        sides = set()
        for name, point in members:
            for step in ((0, 1), (0, -1), (1, 0), (-1, 0)):
                beside = tuple(a + b for a, b in zip(point, step[-len(point) :]))
                if (name, beside) not in members or beside == point:
                    sides.add((f"{name}[{','.join(map(str, point))}]", step))
        found[each.get("data-tile"), each.get("data-members")] = sides
    return found


@pytest.mark.sweep(keep=8)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_outlines_are_those_of_the_schedule_s_tiles(name):
    schedule = automatic(name)
    sizes = dict.fromkeys(parameters(schedule.problem.scop), SLOW.get(name, SIZE))
    small = with_small_tiles(schedule.tree)
    assert str(small) != str(schedule.tree)
    for tree in (schedule.tree, small):
        expected = tiles_in_python(tree, sizes)
        svg = pictured(schedule, tree, sizes)
        drawn = drawn_tiles(svg)
        assert drawn and drawn == visible(expected, svg)
        assert sides_drawn(svg) == sides_expected(svg)


def test_wrong_tiles_are_found():
    """An instance in the neighbour's tile, a partial tile drawn as a full one, and an outline that is open."""
    schedule = automatic("gemm")
    sizes = dict.fromkeys(parameters(schedule.problem.scop), SIZE)
    tree = with_small_tiles(schedule.tree)
    expected, svg = tiles_in_python(tree, sizes), pictured(schedule, tree, sizes)
    moved = svg.replace(" S0[2,0]", "", 1).replace('data-members="S0[3,0]', 'data-members="S0[2,0] S0[3,0]', 1)
    dashed = svg.replace(' stroke-dasharray="4 3" data-tile="3" data-full="false"', ' data-tile="3" data-full="true"', 1)
    opened = re.sub(r'class="tile" d="M[^M]*M', 'class="tile" d="M', svg, count=1)
    assert svg not in (moved, dashed, opened)
    assert drawn_tiles(svg) == expected and drawn_tiles(moved) != expected and drawn_tiles(dashed) != expected
    assert sides_drawn(svg) == sides_expected(svg) and sides_drawn(opened) != sides_expected(opened)
