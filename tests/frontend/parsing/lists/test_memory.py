"""Lists of lists and of tuples that grow: what makes them, their methods, loops over them, functions that get them, results and errors."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python, refusal

EDGES = np.random.default_rng(3).integers(0, 12, (20, 2))


def neighbours(edges, n):
    adj = [[] for _ in range(n)]
    for u, v in edges:
        adj[u].append(v)
        adj[v].append(u)
    return len(adj), adj


def distances(edges, n):
    adj = [[] for _ in range(n)]
    for k in range(edges.shape[0]):
        u, v = edges[k]
        adj[u].append(int(v))
        adj[v].append(int(u))
    found = [-1] * n
    queue = []
    if n > 0:
        found[0] = 0
        queue.append(0)
    while queue:
        u = queue.pop(0)
        for v in adj[u]:
            if found[v] < 0:
                found[v] = found[u] + 1
                queue.append(v)
    return found


def reached(edges, n):
    adj = [[] for _ in range(n)]
    for u, v in edges:
        adj[u].append(v)
    seen = [False] * n

    def visit(u):
        seen[u] = True
        count = 1
        for v in adj[u]:
            if not seen[v]:
                count += visit(v)
        return count

    return visit(0) if n > 0 else 0


def shortest(edges, n):
    adj = [[] for _ in range(n)]
    for k in range(len(edges)):
        adj[edges[k, 0]].append((int(edges[k, 1]), 0.5 * k))
    best = [1e9] * n
    stack = []
    if n:
        stack.append((0, 0.0))
    while stack:
        u, d = stack.pop()
        if d < best[u]:
            best[u] = d
            for v, w in adj[u]:
                if d + w < best[v]:
                    stack.append((v, d + w))
    return best, adj


@pytest.mark.parametrize("function", [neighbours, distances, reached, shortest])
def test_walks_through_graphs(function):
    for n in (12, 13):
        assert_python(function, EDGES, n)
    assert_python(function, EDGES[:0], 12)
    assert_python(function, EDGES[:0], 0)
    assert_python(function, EDGES, 5)  # an index that no list has
    assert_python(function, EDGES.astype(np.int32), 12)
    assert_python(function, EDGES.astype(np.uint8), 12)


def in_groups(A, n):
    groups = [[] for _ in range(n)]
    for x in A:
        groups[int(x) % n].append(x)
    sizes = [0] * n
    for k, group in enumerate(groups):
        sizes[k] = len(group)
        for i, x in enumerate(group):
            A[0] += x * i
    return sizes, groups


def digits(A, n):
    for k in range(2):
        r = n if k else 1
        bins = [[] for _ in range(n)]
        for x in A:
            bins[(int(x) // r) % n].append(x)
        place = 0
        for group in bins:
            for x in group:
                A[place] = x
                place += 1
    return A


def pairs(A, n):
    out = []
    for i in range(len(A)):
        for j in range(i):
            if A[i] > A[j]:
                out.append((i, j))
    total = 0
    for i, j in out:
        total += i * n + j
    while len(out) > 3:
        i, j = out.pop()
        total += out[-1][0] - out[0][1] + i
    return total, out, [(k, -k) for k in range(n) if k % 2]


def triangle(A, n):
    rows = []
    for i in range(n):
        row = [1] * (i + 1)
        for j in range(1, i):
            row[j] = rows[i - 1][j - 1] + rows[i - 1][j]
        rows.append(row)
    return rows


def ragged(A, n):
    w = [[0] * i for i in range(n)]
    v = [[i, i + 1] for i in range(n)]
    u = [[1], [2, 3], []]
    w.append([5])
    for i in range(1, n):
        w[i][0] = i
        w[i][-1] += v[i][1]
    return w, v, u, [[k for k in range(i) if k % 2] for i in range(n)]


def moved(A, n):
    now = [(0, 0)]
    for _ in range(n):
        found = []
        for x, y in now:
            found.append((x + 1, y))
            found.append((x, y + 1))
        now = found
    now[0] = (7, 8)
    now[-1] = now[0]
    return now


def joined(A, n):
    rows = [[] for _ in range(n)]
    rows[0] += [1, 2]
    rows[0].extend([3, 4])
    rows[0].extend([v * 2 for v in rows[0]])
    rows[0].extend(rows[-1])
    rows[0].extend(rows[0])
    rows[n - 1].append(9)
    popped = rows[0].pop()
    popped += rows[0].pop(1)
    rows[0].append(popped)
    last = rows[n - 1]
    last.append(len(rows[0]))
    total = 0
    while rows[0]:
        total = total * 3 + rows[0].pop(0)
        total = total % 1000
    rows[0].clear()
    return total, rows, sum(last), max(last), min(rows[-1]), 5 if rows[0] else 6


def copies(A, n):
    rows = []
    for i in range(n):
        row = []
        for j in range(i):
            row.append(j)
        rows.append(list(row))
        rows.append([len(rows), i])
        rows.append(list(rows[-1]))
        rows.append([x for x in rows[0]])
        row.append(3)
        rows.append([len(row)] * i)
    return rows, len(rows)


def added(values, x):
    values.append(x)


def made(n):
    rows = [[] for _ in range(n)]
    for i in range(n):
        added(rows[i], n - i)
    return rows


def in_functions(A, n):
    one, other = made(n), made(n + 1)
    one[0].append(7)
    added(other[-1], 8)
    return one, other


def changed_in_a_loop(A, n):
    rows = [[] for _ in range(n + 1)]
    rows[0].append(1)
    count = k = 0
    for v in rows[k]:
        k = 1
        row = rows[n - n]
        if count < 5:
            row.append(v + 1)
        count += 1
    for row in rows:
        if len(row) < 3:
            row.append(0)
    return count, rows


FUNCTIONS = [
    in_groups, digits, pairs, triangle, ragged, moved, joined, copies, in_functions, changed_in_a_loop
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_lists_of_lists_and_tuples_are_those_of_python(function):
    A = np.random.default_rng(1).integers(0, 50, 20)
    for dtype, n in ((np.float32, 7), (np.int64, 2)):
        assert_python(function, A.astype(dtype), n)
    assert_python(function, A[:0], 3)
    assert_python(function, A[:1], 1)


def row_outside(A, n):
    rows = [[] for _ in range(3)]
    A[0] = 5
    rows[n].append(1)
    return len(rows[0])


def element_outside(A, n):
    rows = [[] for _ in range(3)]
    rows[0].append(2)
    A[0] = 5
    return rows[0][n]


def stored_outside(A, n):
    rows = [[] for _ in range(3)]
    rows[0].append(2)
    A[0] = 5
    rows[0][n] = 1
    return rows[0][0]


def popped_from_none(A, n):
    rows = [[] for _ in range(3)]
    A[0] = 5
    return rows[n].pop()


def tuple_outside(A, n):
    out = [(1, 2.0)]
    out.append((3, 4.0))
    out.pop()
    A[0] = 5
    a, b = out[n]
    return a + b


@pytest.mark.parametrize(
    ("function", "n", "text"),
    [
        (row_outside, 3, "list index out of range"),
        (row_outside, -4, "list index out of range"),
        (element_outside, 1, "list index out of range"),
        (stored_outside, 1, "list assignment index out of range"),
        (popped_from_none, 1, "pop from empty list"),
        (tuple_outside, 1, "list index out of range"),
    ],
)
def test_errors_have_the_text_of_python(function, n, text):
    for called in (function, polyml.kernel(function, cache=False, fallback="error")):
        A = np.zeros(2)
        with pytest.raises(IndexError) as caught:
            called(A, n)
        assert str(caught.value) == text and A[0] == 5


def one_list_many_times(A, n):
    rows = [[]] * n
    rows[0].append(1)
    return len(rows[1])


def with_a_name(A, n):
    rows = []
    row = []
    for i in range(n):
        row.append(i)
        rows.append(row)
    return len(rows[0])


def of_two_kinds(A, n):
    out = [(1, 2)]
    out.append(3)
    return len(out)


def of_three_levels(A, n):
    rows = [[[0] * j for j in range(i)] for i in range(n)]
    return len(rows[2][1])


def dictionary(A, n):
    rows = {}
    rows[0] = [n]
    return len(rows)


REFUSED = {
    one_list_many_times: "a list that has one list many times",
    with_a_name: "a list that the text may go on with under its name, in a list of lists",
    of_two_kinds: "a number in a list of tuples of 2 numbers",
    of_three_levels: "a list or shape in a list of numbers",
    dictionary: "dict",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_runs_as_python(function):
    assert REFUSED[function] in refusal(function, np.zeros(2), 3)
    assert_python(function, np.zeros(2), 3, compiles=False)
