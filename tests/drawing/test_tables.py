"""Values that notebooks show as tables: the tables have their numbers."""

from xml.etree import ElementTree

import numpy as np

import polyml
from polyml.drawing.tables import html_table
from polyml.machines.cache_spec import parse
from polyml.measure import lookup


def cells(html: str) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in ElementTree.fromstring(html).iter("tr")]


def test_cells_are_escaped_and_numbers_have_separators():
    html = html_table("a < b", ["x", "n"], [("<&>", 12345), ("f", 0.25)])
    assert cells(html) == [["x", "n"], ["<&>", "12,345"], ["f", "0.25"]]
    assert ElementTree.fromstring(html).find(".//caption").text == "a < b"


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def test_misses_are_shown_by_array():
    A, B, C = np.ones((3, 24, 24))
    report = polyml.kernel(product, cache=False).report(
        A, B, C, machine=lookup.find("zen4"), caches=parse("1K:2:64,8K:8:64"), threads=1
    )
    misses = report.forms[0].misses
    head, *rows = cells(misses._repr_html_())
    assert head == ["array", "accesses", "L1 misses", "L2 misses"]
    found = {row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in rows}
    for array in ("A", "B", "C"):
        assert found[array][1:] == [misses.of_array(array, level).misses for level in (0, 1)]
    assert found["all"] == [sum(found[array][column] for array in "ABC") for column in range(3)] and found["all"][0] == 4 * 24**3


def test_targets_and_simulations_are_shown():
    target = polyml.Target.systolic(4, 4, dataflow="os")
    assert cells(target._repr_html_())[1] == ["units", "4 x 4"]
    assert cells(polyml.Target.cuda("H100")._repr_html_())[1:3] == [["language", "cuda"], ["device", "H100"]]
    run = polyml.kernel(product, cache=False).simulate(
        np.ones((5, 3)), np.ones((3, 4)), np.zeros((5, 4)), array=(4, 4), dataflow="os"
    )
    assert cells(run._repr_html_())[1] == ["S0", "t = i + j + k, x = i, y = j", "2", f"{run.cycles}"]
