"""A function's body has one return at its end: branches take what follows them in, and only other returns leave a block."""

import pytest

from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.parse import parse


def in_branches(A):
    if A[0] > 0:
        return 1
    A[0] = 3
    if A[1] > 0:
        return 2
    elif A[2] > 0:
        return 3
    return 4


def in_a_loop(A):
    for i in range(3):
        if A[i] > 0:
            return 1
    return 2


def deep_in_a_branch(A):
    if A[0] > 0:
        if A[1] > 0:
            return 1
        A[1] = 3
    else:
        A[0] = 1
    return 2


def in_an_endless_loop(A):
    while True:
        A[0] += 1
        if A[0] > 7:
            return A[0]


def kinds(function):
    """The classes of the statements of a function's syntax, and of the Returns among those of its outermost block."""
    body = parse(function).body
    returns = [stmt for stmt in statements(body) if isinstance(stmt, syntax.Return)]
    assert returns == [body[-1]]
    return {type(stmt) for stmt in statements(body)}


def test_branches_take_in_what_follows_them():
    assert not kinds(in_branches) & {syntax.Block, syntax.Leave}


@pytest.mark.parametrize("function", [in_a_loop, deep_in_a_branch, in_an_endless_loop], ids=lambda f: f.__name__)
def test_other_returns_leave_a_block_around_the_body(function):
    assert {syntax.Block, syntax.Leave} <= kinds(function)
    block = parse(function).body[0]
    assert isinstance(block, syntax.Block) and block.label.startswith("_return")


def falls_off(A):
    while A[0] > 0:
        A[0] -= 1
        if A[0] == 7:
            return A[0]


def breaks_out(A):
    while True:
        if A[0] > 0:
            break
        if A[1] > 0:
            return A[0]


def another_number_of_values(A):
    for i in range(3):
        if A[i] > 0:
            return 1, 2
    return 1


@pytest.mark.parametrize("function", [falls_off, breaks_out, another_number_of_values], ids=lambda f: f.__name__)
def test_every_path_returns_as_many_values(function):
    with pytest.raises(NotAffineError, match="what is returned depends on the path"):
        parse(function)
