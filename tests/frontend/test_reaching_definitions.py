"""Which assignments reach a read behind blocks that are left and loops that data end."""

import pytest

from polyml.errors import LanguageError
from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.parse import parse as parsed
from polyml.frontend.reaching_definitions import UNSET, ReachingDefinitions, reaching
from polyml.frontend.text.reader import parse
from tests.frontend.define import define


def at_the_end(body, **options):
    """What `x` may be at the end of a text in which it is assigned constants: those, "argument" for n, None where it may be unset."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    kernel = parse(f"polyml kernel, format 1\nuntyped def f(A, n):\n{lines}")
    flow = ReachingDefinitions(kernel.params, **options)
    state = flow.start
    for stmt in kernel.body:
        state = flow.after(stmt, state)
    return {None if d is UNSET else d.stmt.value.value for d in reaching(state, "x")}


@pytest.mark.parametrize(
    "body, found",
    [
        ("block b:\n    x = 1\n    leave b\n    x = 2", {1}),
        ("block b:\n    x = 1\n    if n > 0:\n        leave b\n    x = 2", {1, 2}),
        ("x = 0\nblock b:\n    if n > 0:\n        x = 1\n        leave b\n    x = 2", {1, 2}),
        ("block b:\n    if n > 0:\n        leave b\n    x = 2", {None, 2}),
        (
            "x = 0\nblock a:\n    block b:\n        if n > 0:\n            x = 1\n            leave a\n        leave b\n    x = 2",
            {1, 2},
        ),
        ("x = 0\nwhile n > 0:\n    x = 1", {0, 1}),
        ("while n > 0:\n    x = 1", {None, 1}),
        ("block b:\n    while True:\n        x = 1\n        if n > 0:\n            leave b", {1}),
        ("block b:\n    while True:\n        if n > 0:\n            leave b\n        x = 1", {None, 1}),
        ("block b:\n    while True:\n        if n > 0:\n            x = 1\n            leave b\n        x = 2", {1}),
        ("block b:\n    while n > 0:\n        x = 1\n        leave b\n    x = 2", {1, 2}),
        ("block b:\n    for i in range(0, 3):\n        if n > i:\n            x = 1\n            leave b\n    x = 2", {1, 2}),
        ("for i in range(0, 3):\n    block c:\n        if n > i:\n            x = 1\n            leave c\n        x = 2", {1, 2}),
        ("for i in range(0, n):\n    block c:\n        x = 1\n        leave c", {None, 1}),
    ],
)
def test_what_leaves_a_block_has_the_values_of_that_place(body, found):
    assert at_the_end(body) == found


def test_where_loops_are_taken_to_run_a_while_runs_too():
    assert at_the_end("while n > 0:\n    x = 1", loops_run=True) == {1}


def test_the_condition_of_a_while_reads_what_its_body_assigned():
    kernel = parse("polyml kernel, format 1\nuntyped def f(A, n):\n    x = 0\n    while x < n:\n        x = 1\n")
    flow = ReachingDefinitions(kernel.params)
    first, loop = kernel.body
    state = flow.inside(loop, flow.after(first, flow.start))
    assert {d.stmt for d in reaching(state, "x")} == {s for s in statements(kernel.body) if isinstance(s, syntax.Assign)}


def test_a_name_that_every_break_has_behind_it_is_set_after_an_endless_loop():
    kernel = parsed(
        define("""
        def f(A):
            n = 0
            while True:
                x = A[n]
                n += 1
                if x > 0:
                    break
            return x
        """)
    )
    assert kernel.body[-1].values[0].name == "x"


def test_an_array_that_is_allocated_behind_the_break_is_refused():
    with pytest.raises(LanguageError, match="`x` may be read before it is assigned"):
        parsed(
            define("""
            def f(A):
                n = 0
                while True:
                    if A[n] > 0:
                        break
                    x = np.ones(n)
                    n += 1
                return x
            """)
        )
