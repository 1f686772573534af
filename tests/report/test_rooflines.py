"""The roofline: what stands where, that no label covers another, and that every axis has marks."""

import math
import re
from xml.etree import ElementTree

import pytest

from polyml.machines.descriptions import Figure
from polyml.machines.roofline import Roof, Roofline
from polyml.report.rooflines import Variant, rooflines_svg

SVG = "{http://www.w3.org/2000/svg}"


def figure(value: float) -> Figure:
    return Figure(value, "published")


def roofline(peak: float, rates: dict[str, float], operations: int, moved: int) -> Roofline:
    work = Roof("f64", operations, figure(peak), operations / peak)
    return Roofline(operations, (work,), tuple(Roof(place, moved, figure(rate), moved / rate) for place, rate in rates.items()))


def attributes(svg: str, kind: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(svg).iter() if kind in (each.get("class") or "").split()]


def position(each: ElementTree.Element) -> tuple[float, float]:
    x, y = re.search(r"translate\(([-\d.]+),([-\d.]+)\)", each.get("transform")).groups()
    return float(x), float(y)


def scale(svg: str, mark: str) -> list[tuple[float, float]]:
    """(position, logarithm of its value) of the marks of an axis."""
    factors = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    found = []
    for each in attributes(svg, mark):
        number, unit = re.fullmatch(r"([\d.e+-]+) ?([kMGT]?)", each.text).groups()
        at = float(each.get("x")) if mark == "mark-x" else float(each.get("y")) - 4
        found.append((at, math.log(float(number) * factors[unit])))
    return found


def value(found: list[tuple[float, float]], at: float) -> float:
    (x0, v0), (x1, v1) = found[0], found[-1]
    return math.exp(v0 + (v1 - v0) * (at - x0) / (x1 - x0))


def test_marks_stand_at_their_intensities_and_rates():
    rates = {"L2": 2e11, "memory": 2e10}
    given = [
        Variant("source", roofline(1e11, rates, 10**9, 10**9), 0.2, 0.1),
        Variant("polyml", roofline(1e11, rates, 10**9, 10**8), 0.02, None),
    ]
    svg = rooflines_svg(given)
    across, up = scale(svg, "mark-x"), scale(svg, "mark-y")
    found = {}
    for each in attributes(svg, "mark"):
        if each.get("data-what"):
            x, y = position(each)
            found[each.get("data-variant"), each.get("data-what")] = value(across, x), value(up, y)
    expected = {
        ("source", "bound"): (1, 2e10), ("source", "predicted"): (1, 5e9), ("source", "measured"): (1, 1e10),
        ("polyml", "bound"): (10, 1e11), ("polyml", "predicted"): (10, 5e10),
    }  # fmt: skip
    assert found.keys() == expected.keys()
    for key, (x, y) in expected.items():
        assert found[key] == (pytest.approx(x, rel=0.02), pytest.approx(y, rel=0.02))
    label = ElementTree.fromstring(svg).find(f"{SVG}desc").text
    assert "source: bound 20 G, predicted 5 G, measured 10 GFLOP/s" in label and "Peak 100 GFLOP/s" in label


def turned_corners(each: ElementTree.Element) -> list[tuple[float, float]]:
    """The corners of a label, of characters half as wide as high."""
    size = float(each.get("font-size"))
    turned = re.search(r"translate\(([-\d.]+),([-\d.]+)\) rotate\(([-\d.]+)\)", each.get("transform") or "")
    x, y, angle = map(float, turned.groups()) if turned else (float(each.get("x")), float(each.get("y")), 0.0)
    width = 0.5 * size * len(each.text)
    left = {"middle": -width / 2, "end": -width, None: 0.0}[each.get("text-anchor")]
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return [
        (x + dx * cosine - dy * sine, y + dx * sine + dy * cosine)
        for dx, dy in ((left, 0), (left + width, 0), (left + width, -0.7 * size), (left, -0.7 * size))
    ]


def are_apart(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> bool:
    """Whether two convex polygons are apart, by the sides of either: the separating axis theorem."""
    for corners in (one, other):
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1]):
            normal = y1 - y0, x0 - x1
            a, b = ([x * normal[0] + y * normal[1] for x, y in each] for each in (one, other))
            if max(a) <= min(b) or max(b) <= min(a):
                return True
    return False


@pytest.mark.parametrize("memory", [1e9, 2e10, 1e11, 1.4e11, 1.9e11])
@pytest.mark.parametrize("third", [1.2e10, 1.5e11, 6e11])
def test_no_label_covers_another(memory, third):
    rates = {"L2": 2e11, "L3": third, "memory": memory}
    given = [Variant(f"variant {n}", roofline(1e11, rates, 10**9, 10**9 // (1 + 3 * n)), 0.2 / (1 + n)) for n in range(4)]
    svg = rooflines_svg(given)
    labels = [turned_corners(each) for each in attributes(svg, "label")]
    assert all(are_apart(one, other) for n, one in enumerate(labels) for other in labels[:n])
    for each in attributes(svg, "mark"):
        x, y = position(each)
        if each.get("data-what"):
            box = [(x - 6, y - 6), (x + 6, y - 6), (x + 6, y + 6), (x - 6, y + 6)]
            assert all(are_apart(box, label) for label in labels)
    shown = "".join(ElementTree.fromstring(svg).itertext())
    assert all(f"{place} " in shown for place in rates)
    assert attributes(svg, "mark-x") and attributes(svg, "mark-y")


def test_nothing_is_drawn_where_no_rate_is_known():
    unknown = Roofline(8, (Roof("f64", 8, None, None),), ())
    assert rooflines_svg([Variant("source", unknown)]) == "" and rooflines_svg([]) == ""
