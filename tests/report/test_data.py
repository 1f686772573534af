"""Whatever a report knows is in its JSON, or stands here with the reason why not."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.machines.cache_spec import parse
from polyml.measure import lookup
from polyml.report.plain import attributes, plain

# class -> {what the JSON does not say under its own name: where it stands instead, or why it does not}
ELSEWHERE = {
    "Report": {"reuses": "reuse", "bound": "lower_bound"},
    "FormReport": {"form": "name and notes", "problem": "in place of all the rest where there is one"},
    "Misses": {"arrays": "of each level", "counts": "references", "simulation": "what the counts are made of"},
    "Roof": {"rate": "per_s"},
    "IterationFootprints": {
        "footprints": "arrays", "line_bytes": "levels", "lines": "of each array", "depth": "the number of loops",
        "statements": "an argument of its making",
    },
    "Footprint": {"array": "the key", "element_bytes": "bytes of elements"},
    "Amount": {"count": "formula", "shown": "formula", "context": "assumes", "at": "sizes"},
    "Tiles": {
        "simulated": "candidates", "chosen": "steps", "best": "the first candidate", "nests": "steps", "source": "steps",
        "schedule": "steps",
    },
    "ReferenceReuse": {"reference": "its own fields", "distances": "of each class"},
    "ReuseClass": {"least": "distance", "usual": "distance", "greatest": "distance"},
    "Reuses": {"facts": "assumes", "capacities": "levels"},
    "Counts": {"cold": "compulsory", "first": "compulsory of each level", "fully_associative": "capacity", "invalidated": "coherence"},
    "Launches": {
        "launch": "kernel and axes", "name": "kernel", "machine": "of the report", "mapped": "axes", "grid": "axes",
        "threads": "threads_per_block", "lanes": "active_lanes", "sectors": "l2", "requested": "l2", "is_filtered": "l2",
        "shared_bytes": "shared", "wavefronts": "shared", "conflicts": "shared", "memory_bytes": "memory",
    },
    "CountedAccess": {"access": "its own fields", "step": "bytes_to_next_thread"},
}  # fmt: skip


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


@pytest.fixture(scope="module")
def of_cpu() -> list[tuple[object, dict]]:
    """Values of a report on a processor, each beside what the JSON says of it."""
    A, B, C = np.zeros((3, 24, 24))
    options = {"machine": lookup.find("zen4"), "caches": parse("2K:8:64,32K:16:64"), "tile": (8, 8, 8), "threads": 1}
    report = polyml.kernel(gemm, cache=False).report(A, B, C, **options)
    data = report.data()
    form, form_data = report.forms[0], data["forms"][0]
    level, level_data = report.footprints[0], data["footprints"][0]
    footprint = level.footprints[0]
    reuse, reuse_data = next(iter(report.reuses.references.values())), data["reuse"]["references"][0]
    counts_data = form_data["misses"]["references"][0]
    return [
        (report, data),
        (form, form_data),
        (form.misses, form_data["misses"]),
        (next(iter(form.misses.counts.values())), {**counts_data, **counts_data["levels"][0]}),
        (form.roofline, form_data["roofline"]),
        (form.roofline.work[0], form_data["roofline"]["work"][0]),
        (form.prediction, form_data["prediction"]),
        (level, level_data),
        (footprint, level_data["arrays"][footprint.array]),
        (footprint.lines, level_data["arrays"][footprint.array]["lines"]),
        (report.reuses, data["reuse"]),
        (reuse, reuse_data),
        (reuse.classes[0], reuse_data["classes"][0]),
        (report.tiles, data["tiles"]),
        (report.levels[0], data["levels"][0]),
    ]


@pytest.fixture(scope="module")
def of_gpu() -> list[tuple[object, dict]]:
    """The same of a report on a GPU."""
    benchmark = kernels.load("gemm")
    arguments = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(1), benchmark.dtype)
    report = benchmark.kernel.report(*arguments.values(), target="cuda", machine=lookup.find("h100"))
    data = report.data()
    form, form_data = report.forms[-1], data["forms"][-1]
    launches, launches_data = form.launches[0], form_data["launches"][0]
    access, access_data = launches.accesses[0], launches_data["accesses"][0]
    return [
        (report, data),
        (form, form_data),
        (launches, launches_data),
        (launches.occupancy, launches_data["occupancy"]),
        (access, access_data),
    ]


@pytest.mark.parametrize("values", ["of_cpu", "of_gpu"])
def test_nothing_is_left_out_without_a_word(values, request):
    for value, said in request.getfixturevalue(values):
        name = type(value).__name__
        left_out = {each for each in attributes(type(value)) if each not in said}
        assert left_out <= ELSEWHERE.get(name, {}).keys(), name


def test_what_stands_elsewhere_is_not_in_two_places(of_cpu, of_gpu):
    known = {type(value).__name__: (value, said) for value, said in (*of_cpu, *of_gpu)}
    for name, elsewhere in ELSEWHERE.items():
        value, said = known[name]
        assert elsewhere.keys() <= set(attributes(type(value))), name
        assert elsewhere.keys().isdisjoint(said), name


def test_plain_data_have_fields_and_properties_at_every_depth():
    @dataclass(frozen=True)
    class Side:
        length: int

        @property
        def area(self) -> int:
            return self.length**2

        @property
        def _hidden(self) -> int:
            raise AssertionError

    @dataclass(frozen=True)
    class Box(Side):
        sides: tuple[Side, ...] = ()
        named: dict[str, Side] = None

        @cached_property
        def volume(self) -> int:
            return self.length**3

    side = {"length": 3, "area": 9}
    assert plain(Box(2, (Side(3),), {"x": Side(3)})) == {
        "length": 2, "area": 4, "sides": [side], "named": {"x": side}, "volume": 8,
    }  # fmt: skip
    assert plain(Side(3), {"area": "square"}) == {"length": 3, "square": 9}
    with pytest.raises(TypeError, match="int is no dataclass"):
        plain(3)
