"""Names in reports lead to the source: loops and statements with their lines."""

import numpy as np

import polyml
from polyml.measure.lookup import find
from polyml.report.source_places import source_places


def product(A, B):
    C = A @ B
    return C.max(axis=0)


def test_each_loop_and_statement_of_a_report_has_its_line():
    report = polyml.kernel(product).report(np.ones((8, 8)), np.ones((8, 8)), machine=find("avx2"), threads=1, simulate=False)
    scop = report.forms[0].form.scop
    found = {each.name: each for each in source_places(scop)}
    first = product.__code__.co_firstlineno
    assert {*scop.statements} <= {*found} and {each.loop for each in report.lanes} <= {*found}
    assert {each.line for each in found.values()} == {first + 1, first + 2} and {each.file for each in found.values()} == {__file__}
    source = open(__file__).read().splitlines()
    assert all(each.text == source[each.line - 1].strip() for each in found.values())
    lines = str(report).splitlines()
    start = next(number for number, line in enumerate(lines) if "where loops and statements stand" in line)
    assert [line.split()[0] for line in lines[start + 2 : start + 2 + len(found)]] == [each.name for each in source_places(scop)]
    assert [each["name"] for each in report.data()["source"]] == [each.name for each in source_places(scop)]
