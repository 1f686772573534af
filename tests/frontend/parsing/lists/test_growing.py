"""Lists that grow: methods that change how many elements they have, loops over them, conditions, comprehensions, errors, refusals."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python, refusal


def selected(A):
    out = []
    for i in range(A.shape[0]):
        if A[i] > 1:
            out.append(A[i])
    return np.array(out, dtype=A.dtype), out, len(out)


def places(A):
    out = []
    for i in range(A.shape[0]):
        if A[i] > 1:
            out.append(i)
    return np.array(out), out


def pairs(A):
    found = []
    for i in range(A.shape[0]):
        for j in range(i):
            if A[i] == A[j]:
                found.append(i * 100 + j)
    total = 0
    for place in found:
        total += place
    return found, total


def next_greater(A):
    out, waiting = np.full(A.shape[0], -1), []
    for i in range(A.shape[0]):
        while waiting and A[waiting[-1]] < A[i]:
            out[waiting.pop()] = i
        waiting.append(i)
    return out, waiting


def sums_of_two(A):
    waiting = []
    for i in range(A.shape[0]):
        if len(waiting) < 2 or A[i] > 2:
            waiting.append(float(A[i]))
        else:
            waiting.append(waiting.pop() * 2 - waiting.pop())
        if waiting:
            waiting[-1] += 1
    return waiting, waiting[0]


def reached(A):
    seen = np.zeros(A.shape[0], np.int64)
    queue = [0]
    for place in queue:
        for k in range(1, 3):
            other = (place * 2 + k) % max(A.shape[0], 1)
            if A.shape[0] and not seen[other]:
                seen[other] = place + 1
                queue.append(other)
    return seen, queue


def in_levels(A):
    n, levels = A.shape[0], 0
    seen = np.zeros(n + 1, np.bool_)
    frontier = [0]
    while frontier:
        levels += 1
        found = []
        for place in frontier:
            for other in (place * 2 + 1, place * 2 + 2):
                if other < n and not seen[other]:
                    seen[other] = True
                    found.append(other)
        frontier = found
    return levels, seen


def with_exchange(A):
    now, then, total = [1, 2, 3], [], 0
    while now:
        for x in now:
            total += x
            if x > 1:
                then.append(x - 1)
        now, then = then, []
    return total, len(now), len(then)


def primes(A):
    found = []
    for k in range(2, 20 + A.shape[0]):
        for p in found:
            if k % p == 0:
                break
        else:
            found.append(k)
    return found


def many(A):
    out = []
    for i in range(1000):
        out.append(i * 0.5)
        if i % 7 == 0:
            out.pop()
    return out, out[17], out[-3]


def extended(A):
    out = [1.5, float(A.shape[0])]
    out.extend([2.0, 3.0])
    out.extend(float(x) for x in A if x > 0)
    out += [4.0, 5.0]
    out += [x for x in out if x > 2]
    other = [7.0]
    other.extend(out)
    out.clear()
    out.append(8.0)
    return out, other


def in_iterations(A):
    total = 0
    for i in range(4):
        out = []
        for x in A:
            if x > i:
                out.append(int(x))
        if out:
            total += out[len(out) // 2] * len(out)
    return total


def halved(A):
    out = [float(x) for x in A]
    while len(out) > 2:
        out = [out[i] + out[i + 1] for i in range(0, len(out) - 1, 2)]
    return out


def from_the_front(A):
    queue, total = [0, 1, 2], 0
    while queue:
        x = queue.pop(0)
        total = total * 3 + x
        if total < 10_000:
            queue.append(x + 1)
        y = queue.pop(-1) if len(queue) > 4 else 0
        total += y
    return total


def put(out, x):
    out.append(x)
    if len(out) > 3:
        return out.pop()
    return 0


def by_functions(A):
    out, total = [1], 0

    def put_two(x):
        out.append(x)
        out.append(x + 1)

    for i in range(6):
        got = put(out, i)
        total += got
        put_two(i)
    return out, total


def shared(A):
    a = []
    b = a
    b.append(1)
    a.append(2)
    return b, len(a)


def comprehensions(A):
    positive = [x for x in A if x > 0]
    both = [i * j for i in range(5) for j in range(i) if j % 2]
    doubled = [2 * x for x in positive]
    copy = list(doubled)
    total = 0
    for i, x in enumerate(both):
        total += i * x
    for x, i in zip(reversed(both), range(5)):
        total = total * 2 + x + i
    return both, total, copy, len(positive), max(both), min(both), any(x > 3 for x in both), all(x > 3 for x in both if x)


def evens(A):
    return [i for i in range(A.shape[0]) if i % 2 == 0], np.array([i * 0.5 for i in range(A.shape[0]) if i % 2])


def counted_size(A):
    count = 0
    for x in A:
        if x > 0:
            count += 1
    w = [0] * count
    for i in range(count):
        w[i] = i + 1
    return w, len(w), sum(w)


def no_elements(A):
    out = []
    return out, len(out), [], not out


def last_number(A):
    out = []
    for x in A:
        out.append(x)
    for i in range(len(out)):
        k = i
    return k


def of_truths(A):
    out = []
    for x in A:
        out.append(bool(x > 1))
    return out, any(out), all(out)


def sizes(A):
    out = [1.0, 2.0]
    B, D = np.zeros(len(out)), A[: len(out)] * 1
    v = np.array(out)
    out.append(3.0)
    return B.shape[0], D, v, len(B), len(out)


COMPILED = [
    selected, places, pairs, next_greater, sums_of_two, reached, in_levels, with_exchange, primes, many, extended, in_iterations, halved,
    from_the_front, by_functions, shared, comprehensions, evens, counted_size, no_elements, last_number, of_truths, sizes,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2"])
@pytest.mark.parametrize("function", COMPILED, ids=lambda f: f.__name__)
@pytest.mark.sweep("function", keep=2)
def test_lists_that_grow_are_those_of_python(function, dtype):
    for size in (0, 1, 23):
        assert_python(function, (np.arange(size) * 7 % 5).astype(dtype))


def popped_too_often(A):
    out = [1]
    for i in range(A.shape[0]):
        A[i] = out.pop()
    return out


def out_of_range(A):
    out = []
    for x in A:
        A[0] = 7
        out.append(x)
    return out[A.shape[0]]


def stored_out_of_range(A):
    out = []
    out.append(1)
    A[0] = 7
    out[-3] = 2
    return out


def popped_out_of_range(A):
    out = [1, 2]
    A[0] = 7
    return out.pop(2)


@pytest.mark.parametrize("function", [popped_too_often, out_of_range, stored_out_of_range, popped_out_of_range])
def test_errors_have_the_texts_of_python(function):
    wanted, given = np.arange(3.0), np.arange(3.0)
    with pytest.raises(IndexError) as python:
        function(wanted)
    with pytest.raises(IndexError) as compiled:
        polyml.kernel(cache=False, fallback="error")(function)(given)
    assert str(compiled.value) == str(python.value)
    assert given.tolist() == wanted.tolist()


def of_lists(A):
    rows = []
    row = []
    rows.append(row)
    row.append(1)
    return len(rows[0])


def of_tuples(A):
    out = []
    out.append((1, (2, 3.0)))
    return len(out)


def sorted_in_place(A):
    out = []
    out.sort(key=abs)
    return out


def of_fixed_length(A):
    w = [0.0] * A.shape[0]
    v = w[0:2:2]
    return len(v)


def popped_late(A):
    out = [1, 2]
    return len(out) + out.pop()


def of_ints_or_floats(A):
    out = [1]
    out.append(0.5)
    return np.array(out)


def ints_used(A):
    out = []
    for x in A:
        if x > 5:
            out.append(1)
    v = np.array(out)
    return v * 2


def with_two_names(A):
    out = [1]
    total = 0
    for i in range(3):
        other = out
        other.append(i)
        out = [2]
        total += len(other)
    return total


def numbered_while_it_grows(A):
    out = [0, 1]
    total = 0
    for i, v in enumerate(out):
        total += i * v
        if len(out) < 6:
            out.append(i)
    return total


def twice_while_it_shrinks(A):
    out = [x for x in range(4) if x != 1]
    total = 0
    for v, w in zip(reversed(out), A):
        total += v
        out.pop()
    return total


def bound_anew_in_its_loop(A):
    out = [0, 1]
    total = 0
    for v in out:
        out = []
        out.append(v)
        total += v
    return total


def fixed_and_bound_anew_in_its_loop(A):
    w = [0.5] * 4
    total = 0.0
    for i, v in enumerate(w):
        w = [i + 1.5] * 4
        total += v
    return total


def bound_anew_on_one_path(A):
    out = []
    for x in A:
        if x > 9:
            out.append(1)
    if out:
        other = out
    else:
        other = [1]
    other.append(3)
    return out


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (bound_anew_in_its_loop, "a list whose name the loop over it binds anew"),
        (fixed_and_bound_anew_in_its_loop, "a list whose name the loop over it binds anew"),
        (bound_anew_on_one_path, "a list that has two names, is bound anew in a loop or branch"),
        (numbered_while_it_grows, "a list that the loop changes, inside of what it goes over"),
        (twice_while_it_shrinks, "a list that the loop changes, inside of what it goes over"),
        (of_lists, "a list that the text may go on with under its name, in a list of lists"),
        (of_tuples, "a tuple in a list of tuples of 2 numbers"),
        (sorted_in_place, "`.sort()` of a list"),
        (of_fixed_length, "a slice of a list"),
        (popped_late, "`.pop()` behind what may raise an error or read the list"),
        (of_ints_or_floats, "a Python float or a Python int"),
        (ints_used, "an array of an empty list"),
        (with_two_names, "a list that has two names, is bound anew in a loop or branch"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_is_refused_runs_as_plain_python(function, told):
    given = np.arange(5.0)
    assert told in refusal(function, given)
    assert_python(function, given, compiles=False)
