"""The picture of a compilation has all its passes, and their times add up to those of its stages."""

from xml.etree import ElementTree

import pytest

import polyml
from polyml.errors import ConfigError, PolymlTypeError
from polyml.pictures.graphs.compilation import compilation_svg


@polyml.kernel(cache=False)
def sums(A, total):
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            total[j] += A[i, j]


def bars(svg: str) -> dict[tuple[str, str], tuple[float, float]]:
    """{(stage, pass): (seconds, width of its bar)}."""
    root = ElementTree.fromstring(svg)
    found = [each for each in root.iter() if each.get("data-pass")]
    return {(e.get("data-stage"), e.get("data-pass")): (float(e.get("data-seconds")), float(e.get("width"))) for e in found}


def test_bars_are_the_times_of_passes_that_add_up_to_stages():
    compiled = sums.lower("f64[:,:]", "f64[:]")
    for stage, seconds in compiled.timings.items():
        own = [each for (of, _), each in compiled.passes.items() if of == stage]
        assert stage == "parse" or sum(own) == pytest.approx(seconds)
    svg = polyml.plot(compiled, "compilation")
    drawn = bars(svg)
    assert 5 < len(drawn) <= 24 and {("llvm", "llvm"), ("domain", "extract")} <= {*drawn}
    assert all(seconds == compiled.passes[key] for key, (seconds, _) in drawn.items())
    longest = max(seconds for seconds, _ in drawn.values())
    assert all(width == pytest.approx(max(200 * seconds / longest, 0.5), abs=0.1) for seconds, width in drawn.values())
    assert compiled._repr_html_() == svg


def test_passes_that_take_least_are_put_together():
    svg = compilation_svg("f", {("s", f"p{n}"): 0.001 * (n + 1) for n in range(30)})
    assert {name for _, name in bars(svg)} == {f"p{n}" for n in range(6, 30)}
    assert "6 further passes together: 21 ms" in svg and "465 ms in 30 passes" in svg


def test_what_has_no_compilation_is_refused():
    with pytest.raises(PolymlTypeError, match="polyml.plot draws no compilation of a Schedule"):
        polyml.plot(sums.schedule("source", "f64[:,:]", "f64[:]"), "compilation")
    with pytest.raises(ConfigError, match="the picture compilation takes no sizes"):
        polyml.plot(sums, "compilation", {"A_0": 3})
