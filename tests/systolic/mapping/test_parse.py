"""Mappings that users write: what they mean, and what is refused, with which pair of instances."""

from itertools import product

import pytest

from polyml.errors import ConfigError, IllegalSchedule
from polyml.systolic.mapping.parse import by_nest, parse, plan
from tests.systolic.designs import NestRun, batched, fir, layer, matmul, nests_of, subsequence, zeros

LOOPS = ("i", "j", "k")


def planned(function, text, args=None, shape=(4, 4), links="manhattan"):
    (nest,), sizes = nests_of(function, args)
    return plan(nest, sizes, shape, links, text)


@pytest.mark.parametrize(
    "text, rows",
    [
        ("t = i + j + k, x = i, y = j", ((1, 1, 1), (1, 0, 0), (0, 1, 0))),
        ("y=j,x=-i,t=i+j+k", ((1, 1, 1), (-1, 0, 0), (0, 1, 0))),
        ("t = 2*i - (j - k)*3 + 0, x = -(i + k)", ((2, -3, 3), (-1, 0, -1))),
        ("t = i + i, x = 0", ((2, 0, 0), (0, 0, 0))),
    ],
)
def test_sums_of_multiples_of_loops_are_read(text, rows):
    assert parse(text, LOOPS) == rows


@pytest.mark.parametrize(
    "text",
    ["", "t = i", "x = i, y = j", "t = i, y = j", "t = i, x = j, z = k", "t = i, t = j, x = k", "t = n, x = i", "t = i*j, x = i",
     "t = i + 1, x = j", "t = i / 2, x = j", "t = 1.5*i, x = j", "t = True*i, x = j", "t = i +, x = j", "t i, x = j", "t = i(j), x = k",
     "t = " + "-" * 5000 + "i, x = j", "t = i\0, x = j", "t == i, x = j"],
)  # fmt: skip
def test_anything_else_is_refused_with_what_is_expected(text):
    with pytest.raises(ConfigError) as refused:
        parse(text, LOOPS)
    assert refused.value.message.endswith("is no mapping")
    assert refused.value.notes[0].startswith(
        "expected t and x, and y of an array of two dimensions, as sums of multiples of i, j, k"
    )


def test_mappings_belong_to_nests():
    assert by_nest([], ["S1"]) == {} and by_nest(["t = i, x = j"], ["S1"]) == {"S1": "t = i, x = j"}
    assert by_nest(["S3: t = i, x = j"], ["S1", "S3"]) == {"S3": "t = i, x = j"}
    for texts, message in (
        (["t = i, x = j"], "which nest is `t = i, x = j` of?"),
        (["S2: t = i, x = j"], "there is no nest 'S2'"),
        (["S1: t = i, x = j", "S1: t = j, x = i"], "there are two mappings of S1"),
    ):
        with pytest.raises(ConfigError) as refused:
            by_nest(texts, ["S1", "S3"])
        assert refused.value.message == message


@pytest.mark.parametrize(
    "text, dataflow",
    [
        ("t = i + j + k, x = i, y = j", "os"),
        ("t = i + j + k, x = k, y = j", "ws"),
        ("t = i + j + k, x = k, y = i", "is"),
        ("t = 2*i + j + k, x = j, y = i", "os"),
        ("t = i + j - k, x = i, y = j", "os"),
    ],
)
def test_a_product_s_mapping_does_what_a_trace_of_it_does(text, dataflow):
    found = planned(matmul, text)
    assert found.dataflow == dataflow and found.recurrence.text(found.mapping) == text
    run = NestRun(matmul, (zeros(7, 9), zeros(9, 5), zeros(7, 5)), found)
    run.check()
    classes = [(c.instances, c.units, c.compute_cycles) for c in found.folds.classes for _ in range(c.number)]
    assert sorted(classes) == run.classes()


def test_loops_that_are_not_named_run_around_the_others():
    found = planned(batched, "t = i + j + k, x = i, y = j")
    assert [found.recurrence.nest.loops[loop] for loop in found.recurrence.outer] == ["b"]
    NestRun(batched, (zeros(2, 5, 4), zeros(2, 4, 3), zeros(2, 5, 3)), found).check()


def test_several_loops_may_be_one_axis():
    """The weights are 2 x 3 x 2, the picture's rows and columns 3 x 5."""
    text = "t = f + 5*i + j + 6*c + 2*r + s, x = 6*c + 2*r + s, y = f"
    found = planned(layer, text)
    assert found.dataflow == "ws"
    NestRun(layer, (zeros(2, 5, 6), zeros(5, 2, 3, 2), zeros(5, 3, 5)), found).check()
    with pytest.raises(ConfigError) as refused:
        planned(layer, "t = f + i + j + c + r + s, x = c, y = f")
    assert refused.value.notes[0].startswith("axes: ") and "6*c + 2*r + s" in refused.value.notes[0]


def test_one_dimension_of_two_is_one_row():
    found = planned(fir, "t = 2*i + k, x = k", shape=(2, 4))
    assert found.folds.shape == (4,) and found.folds.units == 8
    with pytest.raises(ConfigError, match="is of an array of two dimensions, this one has one"):
        planned(matmul, "t = i + j + k, x = i, y = j", shape=(4,))


@pytest.mark.parametrize(
    "function, text, links, message, note",
    [
        (matmul, "t = i + j, x = i, y = j", "manhattan",
         "S0[0, 0, 0] and S0[0, 0, 1] would run on one unit in one cycle", "mapping t = i + j, x = i, y = j"),
        (matmul, "t = i + k, x = i, y = j", "manhattan",
         "S0[0, 0, 0] must run after S0[0, 1, 0]", "dependence through A[i, k]"),
        (matmul, "t = i + j + k, x = 2*i, y = j", "manhattan",
         "a value cannot come from S0[0, 0, 0] to S0[1, 0, 0] in time", "dependence through B[k, j], manhattan links"),
        (subsequence, "t = i + j, x = i, y = j", "manhattan",
         "", ""),
        (subsequence, "t = i - j, x = i", "manhattan",
         "S0[1, 2] must run after S0[1, 1]", "dependence through D[i, -1 + j]"),
    ],
    ids=["one unit", "broadcast", "far", "legal", "backwards"],
)  # fmt: skip
def test_what_is_not_legal_is_refused_with_a_pair_of_instances(function, text, links, message, note):
    if not message:
        NestRun(function, (zeros(7, 9), zeros(7), zeros(9)), planned(function, text, links=links)).check()
        return
    with pytest.raises(IllegalSchedule) as refused:
        planned(function, text, links=links)
    assert refused.value.message == message and refused.value.notes[0].startswith(note)
    assert refused.value.loc is not None and refused.value.notes[-1].startswith("mapping t = ")


def brute(rows, shape, depth):
    """Whether a product's mapping is legal, instance by instance."""
    at = {p: [sum(c * v for c, v in zip(row, p)) for row in rows] for p in product(range(3), range(3), range(depth))}
    if len({tuple(place) for place in at.values()}) < len(at):
        return False
    for axis in range(3):
        for p, (t, *place) in at.items():
            q = tuple(v + (k == axis) for k, v in enumerate(p))
            if q in at:
                u, *there = at[q]
                if u == t or sum(abs(a - b) for a, b in zip(place, there)) > abs(u - t):
                    return False
    return True


def test_every_small_mapping_of_a_product_is_legal_where_each_instance_says_so():
    (nest,), sizes = nests_of(matmul, (zeros(3, 3), zeros(3, 3), zeros(3, 3)))
    terms = {1: "", -1: "-", 2: "2*"}
    legal = 0
    for coefficients in product((0, 1, -1), repeat=3):
        for x, y in (((1, 0, 0), (0, 1, 0)), ((0, 0, 1), (1, 0, 0)), ((1, 0, -1), (0, 1, 0)), ((1, 1, 0), (0, 0, 1))):
            rows = (coefficients, x, y)
            texts = ["".join(f" + {terms[c]}{loop}" for c, loop in zip(row, LOOPS) if c) or "0" for row in rows]
            text = ", ".join(f"{name} = {value.removeprefix(' + ')}" for name, value in zip("txy", texts))
            try:
                plan(nest, sizes, (3, 3), "manhattan", text)
                found = True
            except IllegalSchedule:
                found = False
            assert found == brute(rows, (3, 3), 3), text
            legal += found
    assert legal > 10
