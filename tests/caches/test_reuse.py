"""Reuse of random nests against stacks of lines in plain Python; what reports say of it."""

import pytest

from polyml.caches.placement import placed
from polyml.caches.reuse import reuse
from polyml.caches.trace import references
from polyml.machine import CacheLevel
from tests.caches.nests import events, nest, reuses
from tests.caches.test_simulate import program_of

LEVELS = (CacheLevel(1, 6 * 32, 6, 32, 1), CacheLevel(2, 17 * 32, 17, 32, 1))


def kernel_of(source, tmp_path):
    path = tmp_path / "f.py"
    path.write_text(source)
    scope = {}
    exec(compile(source, str(path), "exec"), scope)
    import linecache

    linecache.checkcache()
    return scope["f"]


@pytest.mark.parametrize("seed", range(40))
def test_random_nests(seed, tmp_path):
    drawn = nest(seed)
    n, m = 5 + seed % 4, 7 + seed % 3
    arguments = {"A": (12, 12), "B": (12, 16), "x": (12,), "n": n, "m": m}
    program, sizes = program_of(kernel_of(drawn.source, tmp_path), arguments)
    found = reuse(program.scop, program.scop.schedule, references(program), sizes, placed(program, sizes), LEVELS, 2.0)
    first, wanted = reuses(events(drawn.traced, n, m, 4))
    by_class = {}
    for reference, each in found.references.items():
        if each.problem:
            continue
        me = reference.statement, reference.position
        assert each.first_value == first[me]
        for c in each.classes:
            by_class[me, (c.source.statement, c.source.position), c.kind, c.carried] = c
    known = [(r.statement, r.position) for r, each in found.references.items() if not each.problem]
    assert by_class.keys() == {key for key in wanted if key[0] in known}
    for key, distances in ((key, wanted[key]) for key in by_class):
        c = by_class[key]
        assert c.uses == len(distances)
        assert (c.least, c.greatest) == (min(distances), max(distances))
        assert c.hits == (sum(d < 6 for d in distances), sum(6 <= d < 17 for d in distances), sum(d >= 17 for d in distances))
