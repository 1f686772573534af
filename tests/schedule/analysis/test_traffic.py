"""Bytes that nests move: boxes of elements are counted as isl counts them, and as a walk over all instances does."""

from itertools import product

import numpy as np
import pytest

from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.pipeline.stages import extract
from polyml.polyhedra import at_sizes, points
from polyml.schedule.analysis.footprint_boxes import FootprintBoxes
from polyml.schedule.analysis.strides import accesses
from polyml.schedule.analysis.traffic import Traffic
from tests.schedule.scheduling import modelled


def windows(A, B, C):
    n, m = A.shape
    for i in range(n):
        for j in range(m - 1):
            B[m - 1 - j, i] = A[i, j] + A[i, j + 1] + A[n - 1, 0]
    for i in range(1, n - 1):
        for j in range(m):
            C[i, j] = C[i - 1, j] + C[i + 1, j] + B[j, i] + B[j // 2, 2 * i // 2] + A[i, i % 2]
    for i in range(n):
        for j in range(i):
            C[i, j] = C[i, i] + C[2 * j // 2, 3]


def extracted(function, *arguments):
    return extract(infer(parse(function), tuple(map(arg_type, arguments))))


A = np.zeros((8, 8))
SCOPS = {"windows": extracted(windows, A, A, A), **{n: modelled(n).scop for n in ("gemm", "k2mm", "fdtd_2d", "covariance", "lu")}}


def sizes_of(scop):
    return {parameter.name: 7 + k for k, parameter in enumerate(scop.parameters)}


@pytest.mark.parametrize("name", SCOPS)
def test_boxes_have_the_elements_that_instances_access(name):
    scop = SCOPS[name]
    sizes, known = sizes_of(scop), 0
    boxes = FootprintBoxes(scop, sizes)
    for first, second in product(scop.statements.values(), repeat=2):
        for one, other in product(accesses(first), accesses(second)):
            count = boxes.elements([(first, one), (second, other)]) if one.array == other.array else None
            if count is not None:
                known += 1
                pairs = ((first, one), (second, other))
                images = [at_sizes(a.relation.intersect_domain(s.domain), sizes).range() for s, a in pairs]
                assert count == len({*map(tuple, (point for image in images for point in points(image)))})
    assert known or name == "lu"  # whose nests are triangles


@pytest.mark.parametrize("name", SCOPS)
def test_bytes_are_those_of_isl(name, monkeypatch):
    scop = SCOPS[name]
    groups = [[n] for n in scop.statements] + [[*scop.statements]]
    quick = [Traffic(scop, sizes_of(scop)).of(names) for names in groups]
    monkeypatch.setattr(FootprintBoxes, "elements", lambda self, accesses: None)
    assert quick == [Traffic(scop, sizes_of(scop)).of(names) for names in groups]
    assert any(quick)
