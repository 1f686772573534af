"""Schedules that were found before: found by the SCoP's text, proved again, searched for again where they are none."""

import json
import os

import numpy as np
import pytest

from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.machines import cpu
from polyml.pipeline import compile as pipeline
from polyml.runtime.storage import schedule_cache
from polyml.runtime.storage.checksum import seal as sealed
from polyml.runtime.storage.disk_cache import Cache


def smooth(A, B):
    for t in range(10):
        for i in range(1, A.shape[0] - 1):
            B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]


def smoothed_again(A, B):
    """The same by another name, elsewhere."""

    for t in range(10):
        for i in range(1, A.shape[0] - 1):
            B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]


def shifted(A, B):
    for t in range(10):
        for i in range(1, A.shape[0] - 1):
            B[i] = (A[i - 1] + A[i] + A[i]) / 3.0
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]


def product(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.fixture
def cache(tmp_path):
    return Cache(str(tmp_path), 10**8)


@pytest.fixture
def searches(monkeypatch):
    """One item for each search for a schedule."""
    made, compute = [], schedule_cache.compute

    def counted(scop, *others, **choices):
        made.append(scop.name)
        return compute(scop, *others, **choices)

    monkeypatch.setattr(schedule_cache, "compute", counted)
    return made


def compiled(function, cache, dtype="f8", **options):
    ndim = 2 if function is product else 1
    types = tuple(arg_type(np.ones((4,) * ndim, dtype)) for _ in range(function.__code__.co_argcount))
    return pipeline.compile(
        parse(function), pipeline.CompileRequest(types, ("C",) * len(types), Options(**options)), schedules=cache
    )


def seal(path, content):
    """As the entry at this place."""
    return sealed(os.path.basename(path).removesuffix(".bin"), content)


def only_entry(cache):
    (entry,) = cache._files()
    return entry.path


def test_without_a_cache_every_kernel_is_searched_for(searches):
    for _ in range(2):
        compiled(smooth, None)
    assert searches == ["smooth", "smooth"]


def test_another_name_place_and_docstring_find_the_schedule(cache, searches):
    first, second = compiled(smooth, cache), compiled(smoothed_again, cache)
    assert searches == ["smooth"]
    assert str(first.schedule) == str(second.schedule) and first.artifact.notes == second.artifact.notes


def test_types_of_the_same_size_find_the_schedule_and_others_do_not(cache, searches):
    first, second = compiled(product, cache), compiled(product, cache, "i8")
    assert len(searches) == 1 and str(first.schedule) == str(second.schedule)
    compiled(product, cache, "f4")
    assert len(searches) == 2


def test_a_schedule_is_kept_with_what_the_code_needs_to_know_of_it(cache, searches):
    first, second = compiled(product, cache), compiled(product, cache)
    assert searches == ["product"]
    assert first.artifact.notes == second.artifact.notes and first.artifact.sized == second.artifact.sized
    assert first.llvm == second.llvm


@pytest.mark.parametrize("settings", [{"tile": False}, {"parallel": False}, {"fp": "strict"}])
def test_other_settings_find_no_schedule(cache, searches, settings):
    compiled(product, cache)
    compiled(product, cache, **settings)
    assert len(searches) == 2


def test_other_accesses_and_another_machine_find_no_schedule(cache, searches, monkeypatch):
    compiled(smooth, cache)
    compiled(shifted, cache)
    assert searches == ["smooth", "shifted"]
    other = cpu.host().__class__(**{**vars(cpu.host()), "cores": 77})
    monkeypatch.setattr(cpu, "host", lambda: other)
    compiled(smooth, cache)
    assert searches == ["smooth", "shifted", "smooth"]


def running(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i] * A[i - 1]


DOMAIN = "[A_0] -> { S0[i] : 0 < i < A_0 }"


def kept(domain=DOMAIN, time="i", mark=""):
    """An entry for `running`: instances in the order of time."""
    band = f'{{ schedule: "[{{ S0[i] -> [({time})] }}]" }}'
    child = f'{{ mark: "{mark}", child: {band} }}' if mark else band
    return json.dumps({"tree": f'{{ domain: "{domain}", child: {child} }}', "notes": [], "operations": 0}).encode()


def tree(child):
    """An entry with this below the domain."""
    return json.dumps({"tree": f'{{ domain: "{DOMAIN}", child: {child} }}', "notes": [], "operations": 0}).encode()


BAND = '{ schedule: "[{ S0[i] -> [(i)] }]" }'
REFUSED = {
    "a sequence of nothing": tree("{ sequence: [ ] }"),
    "a sequence that leaves instances out": tree('{ sequence: [ { filter: "[A_0] -> { S0[i] : i > 2 }", child: %s } ] }' % BAND),
    "a sequence of bands": tree(f"{{ sequence: [ {BAND} ] }}"),
    "a child that is a text": tree('"x"'),
    "a mark that is none": tree(f"{{ mark: 3, child: {BAND} }}"),
    "a band of nothing": tree('{ schedule: "[]" }'),
    "a band for others": tree('{ schedule: "[{ S1[i] -> [(i)] }]" }'),
    "more coincident than members": tree('{ schedule: "[{ S0[i] -> [(i)] }]", coincident: [ 0, 0 ] }'),
    "a node without end": tree("{ child: " * 5000 + BAND + " }" * 5000),
    "a choice that is none": kept().replace(b'"notes": []', b'"notes": [], "sized": 3'),
    "notes that are none": kept().replace(b'"notes": []', b'"notes": [{}]'),
    "no JSON": b"\xff nonsense",
    "another value": b"[1, 2]",
    "no tree": b'{"notes": [], "operations": 0}',
    "no text": b'{"tree": null, "notes": [], "operations": 0}',
    "no schedule": b'{"tree": "{ domain: }", "notes": [], "operations": 0}',
    "unknown fields": kept().replace(b"notes", b'size": 3, "notes'),
    "nothing": b"",
    "instances left out": kept("[A_0] -> { S0[i] : 1 < i < A_0 }"),
    "instances of another kernel": kept("[A_0] -> { S0[i] : 0 < i < A_0; S1[i] : 0 < i < A_0 }"),
    "backwards": kept(time="-i"),
    "parallel where it may not be": kept(mark="parallel"),
}


def test_a_schedule_that_is_legal_is_taken_as_it_is_kept(cache, searches):
    compiled(running, cache)
    path = only_entry(cache)
    with open(path, "wb") as file:
        file.write(seal(path, kept(time="3i")))
    again = compiled(running, cache)
    assert searches == ["running"] and "(3i)" in str(again.schedule)


def test_the_order_of_a_nodes_fields_does_not_matter(cache, searches):
    compiled(running, cache)
    path = only_entry(cache)
    with open(path, "wb") as file:
        file.write(seal(path, tree(f'{{ child: {BAND.replace("(i)", "(3i)")}, mark: "x" }}')))
    assert "(3i)" in str(compiled(running, cache).schedule) and searches == ["running"]


@pytest.mark.parametrize("kind", list(REFUSED))
def test_an_entry_that_is_no_legal_schedule_of_the_kernel_is_replaced(cache, searches, kind):
    first = compiled(running, cache)
    path = only_entry(cache)
    with open(path, "rb") as file:
        right = file.read()
    with open(path, "wb") as file:
        file.write(seal(path, REFUSED[kind]))
    second = compiled(running, cache)
    assert searches == ["running", "running"] and str(first.schedule) == str(second.schedule)
    with open(path, "rb") as file:
        assert file.read() == right


def test_a_damaged_entry_is_replaced(cache, searches):
    compiled(smooth, cache)
    path = only_entry(cache)
    with open(path, "r+b") as file:
        file.seek(40)
        file.write(b"x")
    compiled(smooth, cache)
    compiled(smooth, cache)
    assert searches == ["smooth", "smooth"]


def test_a_kernel_finds_its_schedule_in_the_disk_cache(tmp_path, searches):
    import polyml

    for function in (smooth, smoothed_again):
        A, B = np.arange(9.0), np.zeros(9)
        expected = A.copy(), B.copy()
        function(*expected)
        call = polyml.kernel(cache_dir=str(tmp_path))(function)
        call(A, B)
        assert not call.from_cache and np.allclose(A, expected[0]) and np.allclose(B, expected[1])
    assert searches == ["smooth"]
