"""Dynamic programs: tables whose loops end early, whose subscripts are data, or in which a way is followed back."""

import itertools
from bisect import bisect_left

import numpy as np

from polyml.kernels.irregular._irregular import irregular


def _texts(size, rng):
    """Returns two texts of few letters, the second of which is the first with changes."""
    a = rng.integers(0, 4, size["N"])
    b = np.where(rng.random(size["N"]) < 0.1, rng.integers(0, 4, size["N"]), a)
    return a, np.delete(b, rng.integers(0, size["N"], size["N"] // 20))


def _subsequence_right(a, b):
    """Computed as Hunt and Szymanski do, by the least ends of common subsequences of each length."""
    places = {letter: np.flatnonzero(b == letter)[::-1] for letter in np.unique(a)}
    ends = np.full(min(len(a), len(b)) + 2, len(b))
    ends[0] = -1
    for letter in a:
        found = places[letter]
        ends[np.searchsorted(ends, found)] = found
    return {"result": np.count_nonzero(ends[1:] < len(b))}


@irregular({"N": 30}, {"N": 1500}, _texts, _subsequence_right)
def longest_common_subsequence(a, b):
    """Returns its length, from two rows of the table, and early where all of the second text is found."""
    m = b.shape[0]
    row = np.zeros(m + 1, dtype=np.int64)
    for i in range(a.shape[0]):
        diagonal = 0
        for j in range(1, m + 1):
            above = row[j]
            if a[i] == b[j - 1]:
                row[j] = diagonal + 1
            elif row[j - 1] > row[j]:
                row[j] = row[j - 1]
            diagonal = above
        if row[m] == m:
            break
    return row[m]


def _substring_right(a, b):
    """Computed diagonal by diagonal: the longest run of equal letters on each."""
    longest = 0
    for shift in range(-len(b) + 1, len(a)):
        i, j = max(shift, 0), max(-shift, 0)
        n = min(len(a) - i, len(b) - j)
        different = np.flatnonzero(a[i : i + n] != b[j : j + n])
        longest = max(longest, np.diff(different, prepend=-1, append=n).max() - 1)
    return {"result": longest}


@irregular({"N": 30}, {"N": 1500}, _texts, _substring_right)
def longest_common_substring(a, b):
    """Returns its length; compares from each pair of places while letters agree, and stops where no longer one fits."""
    n = a.shape[0]
    m = b.shape[0]
    longest = 0
    for i in range(n):
        if n - i <= longest:
            break
        for j in range(m):
            if m - j <= longest:
                break
            k = 0
            while i + k < n and j + k < m and a[i + k] == b[j + k]:
                k += 1
            if k > longest:
                longest = k
    return longest


def _banded(size, rng):
    """Returns two texts, the half width of the band, and the distance at which to give up."""
    return *_texts(size, rng), size["W"], size["N"]


def _edit_right(a, b, width, limit):
    """Computed row by row from the whole table, with the cells outside the band too far away to be used."""
    n, m = len(a), len(b)
    columns = np.arange(m + 1)
    row = np.where(columns <= width, columns, 10**6)
    for i in range(1, n + 1):
        new = np.minimum(row + 1, np.concatenate([[10**6], row[:-1] + (a[i - 1] != b)]))
        new = np.where(abs(columns - i) <= width, new, 10**6)
        row = np.minimum.accumulate(new - columns) + columns
        row = np.where(abs(columns - i) <= width, row, 10**6)
    return {"result": min(row[m], limit)}


@irregular({"N": 60, "W": 8}, {"N": 10_000, "W": 600}, _banded, _edit_right)
def banded_edit_distance(a, b, width, limit):
    """Returns the distance by ways within the band, or the limit as soon as no way is shorter."""
    n = a.shape[0]
    m = b.shape[0]
    row = np.full(m + 1, 10**6)
    for j in range(min(width, m) + 1):
        row[j] = j
    for i in range(1, n + 1):
        first = max(1, i - width)
        last = min(m, i + width)
        diagonal = row[first - 1]
        row[first - 1] = i if first == 1 and i <= width else 10**6
        least = row[first - 1]
        for j in range(first, last + 1):
            above = row[j] if j < i + width else 10**6
            cost = diagonal + (0 if a[i - 1] == b[j - 1] else 1)
            diagonal = row[j]
            row[j] = min(cost, above + 1, row[j - 1] + 1)
            if row[j] < least:
                least = row[j]
        if least >= limit:
            return limit
    return min(row[m], limit)


def _items(size, rng):
    """Returns weights and values of things, and what may be carried."""
    return rng.integers(1, size["C"] // 4, size["N"]), rng.integers(1, 1000, size["N"]), size["C"]


def _knapsack_right(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for weight, value in zip(weights, values):
        best[weight:] = np.maximum(best[weight:], best[: len(best) - weight] + value)
    return {"result": best[-1]}


@irregular({"N": 15, "C": 60}, {"N": 300, "C": 20_000}, _items, _knapsack_right)
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(weights.shape[0]):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


def _increasing_right(x):
    """Computed with the standard library's bisection."""
    tails: list[int] = []
    for value in x.tolist():
        place = bisect_left(tails, value)
        tails[place : place + 1] = [value]
    return {"result": len(tails)}


@irregular({"N": 150}, {"N": 100_000}, lambda size, rng: (rng.integers(0, 10 * size["N"], size["N"]),), _increasing_right)
def longest_increasing_subsequence(x):
    """Returns its length, by a binary search for each number."""
    tails = np.empty(x.shape[0], dtype=np.int64)
    length = 0
    for i in range(x.shape[0]):
        low = 0
        high = length
        while low < high:
            middle = (low + high) // 2
            if tails[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        tails[low] = x[i]
        if low == length:
            length += 1
    return length


def _coins(size, rng):
    """Returns coins, the smallest of them not 1, and the amount."""
    return np.sort(rng.choice(np.arange(3, 90), size["K"], replace=False)), size["N"]


def _coins_right(coins, amount):
    """Computed as a breadth-first search over amounts: those that k coins make."""
    fewest = np.full(amount + 1, -1)
    fewest[0] = 0
    made = np.array([0])
    for count in itertools.count(1):
        made = np.unique(made[:, None] + coins)
        made = made[made <= amount]
        made = made[fewest[made] < 0]
        if not len(made):
            return {"result": fewest}
        fewest[made] = count
    return {}


@irregular({"N": 200, "K": 4}, {"N": 300_000, "K": 12}, _coins, _coins_right)
def coin_change(coins, amount):
    """Returns the fewest coins for each amount, or -1."""
    fewest = np.full(amount + 1, -1)
    fewest[0] = 0
    for a in range(1, amount + 1):
        for k in range(coins.shape[0]):
            if coins[k] > a:
                break
            before = fewest[a - coins[k]]
            if before >= 0 and (fewest[a] < 0 or before + 1 < fewest[a]):
                fewest[a] = before + 1
    return fewest


def _alignment_right(a, b):
    """Computed along the table's antidiagonals, and followed back from the first of the best cells."""
    n, m = len(a), len(b)
    H = np.zeros((n + 1, m + 1), dtype=np.int64)
    for d in range(2, n + m + 1):
        i = np.arange(max(1, d - m), min(n, d - 1) + 1)
        j = d - i
        same = np.where(a[i - 1] == b[j - 1], 3, -3)
        H[i, j] = np.stack([H[i - 1, j - 1] + same, H[i - 1, j] - 2, H[i, j - 1] - 2, np.zeros_like(i)]).max(axis=0)
    i, j = np.unravel_index(np.argmax(H), H.shape)
    best, steps = H[i, j], 0
    while H[i, j]:
        steps += 1
        moves = {(i - 1, j - 1): 3 if a[i - 1] == b[j - 1] else -3, (i - 1, j): -2, (i, j - 1): -2}
        i, j = next(cell for cell, score in moves.items() if H[cell] + score == H[i, j])
    return {"result": (best, steps)}


@irregular({"N": 20}, {"N": 1000}, _texts, _alignment_right)
def smith_waterman(a, b):
    """Returns the score of the best local alignment and how many steps it has."""
    n = a.shape[0]
    m = b.shape[0]
    H = np.zeros((n + 1, m + 1), dtype=np.int64)
    best = 0
    bi = 0
    bj = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score = H[i - 1, j - 1] + (3 if a[i - 1] == b[j - 1] else -3)
            score = max(0, score, H[i - 1, j] - 2, H[i, j - 1] - 2)
            H[i, j] = score
            if score > best:
                best = score
                bi = i
                bj = j
    steps = 0
    while H[bi, bj] > 0:
        steps += 1
        same = 3 if a[bi - 1] == b[bj - 1] else -3
        if H[bi, bj] == H[bi - 1, bj - 1] + same:
            bi -= 1
            bj -= 1
        elif H[bi, bj] == H[bi - 1, bj] - 2:
            bi -= 1
        else:
            bj -= 1
    return best, steps


def _hidden_states(size, rng):
    """Returns logarithms of the chances of first states, of steps and of signs, the signs seen, and room for the states."""
    s, k = size["S"], size["K"]
    tables = [np.log(rng.uniform(0.01, 1, shape)) for shape in (s, (s, s), (s, k))]
    return *tables, rng.integers(0, k, size["T"]), np.zeros(size["T"], dtype=np.int64)


def _viterbi_right(start, steps, signs, seen, path):
    """Computed from the end: the best of what may follow each state, then forward along the best."""
    states = len(start)
    after = np.zeros((len(seen), states))
    for t in range(len(seen) - 2, -1, -1):
        after[t] = (steps + signs[:, seen[t + 1]] + after[t + 1]).max(axis=1)
    first = start + signs[:, seen[0]] + after[0]
    right = [int(np.argmax(first))]
    for t in range(1, len(seen)):
        right.append(int(np.argmax(steps[right[-1]] + signs[:, seen[t]] + after[t])))
    return {"path": np.array(right), "result": first.max()}


@irregular({"S": 5, "K": 4, "T": 20}, {"S": 24, "K": 30, "T": 4000}, _hidden_states, _viterbi_right, tolerance=1e-11)
def viterbi(start, steps, signs, seen, path):
    """Finds the most likely states; returns the logarithm of their chance."""
    states = start.shape[0]
    length = seen.shape[0]
    score = np.empty((length, states))
    origin = np.zeros((length, states), dtype=np.int64)
    for s in range(states):
        score[0, s] = start[s] + signs[s, seen[0]]
    for t in range(1, length):
        for s in range(states):
            best = score[t - 1, 0] + steps[0, s]
            for r in range(1, states):
                value = score[t - 1, r] + steps[r, s]
                if value > best:
                    best = value
                    origin[t, s] = r
            score[t, s] = best + signs[s, seen[t]]
    last = 0
    for s in range(1, states):
        if score[length - 1, s] > score[length - 1, last]:
            last = s
    path[length - 1] = last
    for t in range(length - 1, 0, -1):
        path[t - 1] = origin[t, path[t]]
    return score[length - 1, last]
