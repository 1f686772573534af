"""Counts, sums and maxima of groups, prefix sums, compaction, codings of runs: what moves elements to places that data give."""

import numpy as np

from polyml.kernels.irregular._irregular import irregular


def _bins(size, rng, bins):
    """Returns numbers in (0, bins), none of which is near a whole number, so that rounding moves none to another bin."""
    return rng.integers(0, bins, size["N"]) + rng.uniform(0.1, 0.9, size["N"])


def _values(size, rng):
    """Returns values, the ends of their range, and room for counts."""
    return -1.0 + 2.0 * _bins(size, rng, size["B"]) / size["B"], -1.0, 1.0, np.zeros(size["B"], dtype=np.int64)


def _histogram_right(x, low, high, counts):
    return {"counts": np.histogram(x, bins=len(counts), range=(low, high))[0]}


@irregular({"N": 500, "B": 20}, {"N": 2_000_000, "B": 128}, _values, _histogram_right)
def histogram(x, low, high, counts):
    for i in range(x.shape[0]):
        if x[i] >= low and x[i] < high:
            k = int((x[i] - low) / (high - low) * counts.shape[0])
            counts[k] += 1


def _points(size, rng):
    """Returns two coordinates of points in the unit square, and room for counts."""
    b = size["B"]
    return _bins(size, rng, b) / b, _bins(size, rng, b) / b, np.zeros((b, b), dtype=np.int32)


def _histogram_2d_right(x, y, counts):
    return {"counts": np.histogram2d(x, y, bins=counts.shape, range=((0, 1), (0, 1)))[0]}


@irregular({"N": 400, "B": 8}, {"N": 3_000_000, "B": 64}, _points, _histogram_2d_right)
def histogram_2d(x, y, counts):
    for p in range(x.shape[0]):
        i = int(x[p] * counts.shape[0])
        j = int(y[p] * counts.shape[1])
        counts[i, j] += 1


def _weighted(size, rng):
    """Returns the group of each value, the values, and room for sums."""
    return rng.integers(0, size["B"], size["N"]), rng.uniform(0, 1, size["N"]), np.zeros(size["B"])


def _sums_right(keys, weights, sums):
    return {"sums": np.bincount(keys, weights=weights, minlength=len(sums))}


@irregular({"N": 500, "B": 20}, {"N": 6_000_000, "B": 1000}, _weighted, _sums_right, tolerance=1e-11)
def weighted_histogram(keys, weights, sums):
    for i in range(keys.shape[0]):
        sums[keys[i]] += weights[i]


@irregular(
    {"N": 500}, {"N": 6_000_000}, lambda size, rng: (rng.integers(0, 256, size["N"]).astype(np.int32),),
    lambda keys: {"result": np.bincount(keys)},
)  # fmt: skip
def bincount(keys):
    """Returns how often each number occurs, up to the largest."""
    largest = 0
    for i in range(keys.shape[0]):
        largest = max(largest, keys[i])
    counts = np.zeros(largest + 1, dtype=np.int64)
    for i in range(keys.shape[0]):
        counts[keys[i]] += 1
    return counts


def _maxima_right(keys, x, best):
    right = np.full(len(best), -1.0)
    np.maximum.at(right, keys, x)
    return {"best": right}


@irregular({"N": 500, "B": 20}, {"N": 6_000_000, "B": 1000}, _weighted, _maxima_right)
def group_maxima(keys, x, best):
    best[:] = -1.0
    for i in range(x.shape[0]):
        if x[i] > best[keys[i]]:
            best[keys[i]] = x[i]


@irregular(
    {"N": 400, "B": 30}, {"N": 3_000_000, "B": 1000},
    lambda size, rng: (rng.integers(0, size["B"], size["N"]), size["B"], np.zeros(size["N"], dtype=np.int64)),
    lambda keys, limit, out: {"out": np.sort(keys)},
)  # fmt: skip
def counting_sort(keys, limit, out):
    counts = np.zeros(limit, dtype=np.int64)
    for i in range(keys.shape[0]):
        counts[keys[i]] += 1
    place = 0
    for k in range(limit):
        for _ in range(counts[k]):
            out[place] = k
            place += 1


def _radix_inputs(size, rng):
    """Returns keys, the shift of the byte to sort by, and room for the sorted keys and where each of them was."""
    n = size["N"]
    return rng.integers(0, 2**31, n), 8, np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)


def _radix_right(keys, shift, out, places):
    order = np.argsort(keys // 2**shift % 256, kind="stable")
    return {"out": keys[order], "places": order}


@irregular({"N": 400}, {"N": 1_000_000}, _radix_inputs, _radix_right)
def radix_pass(keys, shift, out, places):
    counts = np.zeros(257, dtype=np.int64)
    for i in range(keys.shape[0]):
        counts[((keys[i] >> shift) & 255) + 1] += 1
    for k in range(256):
        counts[k + 1] += counts[k]
    for i in range(keys.shape[0]):
        digit = (keys[i] >> shift) & 255
        out[counts[digit]] = keys[i]
        places[counts[digit]] = i
        counts[digit] += 1


def _signed(size, rng):
    return rng.integers(-3, 10, size["N"]), np.zeros(size["N"], dtype=np.int64)


def _restarted_right(x, out):
    sums = np.cumsum(np.maximum(x, 0))
    return {"out": sums - np.maximum.accumulate(np.where(x < 0, sums, 0))}


@irregular({"N": 500}, {"N": 6_000_000}, _signed, _restarted_right)
def restarted_prefix_sums(x, out):
    """Prefix sums that begin again at each negative number."""
    total = 0
    for i in range(x.shape[0]):
        if x[i] < 0:
            total = 0
        else:
            total += x[i]
        out[i] = total


def _kept_right(x, threshold, out):
    kept = x[x > threshold]
    return {"out": np.concatenate([kept, np.zeros(len(out) - len(kept))]), "result": len(kept)}


@irregular(
    {"N": 500}, {"N": 2_000_000}, lambda size, rng: (rng.uniform(0, 1, size["N"]), 0.5, np.zeros(size["N"])), _kept_right
)  # fmt: skip
def stream_compaction(x, threshold, out):
    """Keeps what is above the threshold; returns how many."""
    count = 0
    for i in range(x.shape[0]):
        if x[i] > threshold:
            out[count] = x[i]
            count += 1
    return count


def _runs(size, rng):
    """Returns numbers in runs, and room for the value and the length of each run."""
    n = size["N"]
    x = np.repeat(rng.integers(0, 10, n), rng.integers(1, 9, n))[:n]
    return x, np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)


def _encoded_right(x, values, lengths):
    first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    room = len(x) - len(first)
    counts = np.diff(np.concatenate([first, [len(x)]]))
    return {"values": np.pad(x[first], (0, room)), "lengths": np.pad(counts, (0, room)), "result": len(first)}


@irregular({"N": 400}, {"N": 1_500_000}, _runs, _encoded_right)
def run_length_encoding(x, values, lengths):
    """Returns how many runs there are."""
    n = x.shape[0]
    count = 0
    i = 0
    while i < n:
        j = i + 1
        while j < n and x[j] == x[i]:
            j += 1
        values[count] = x[i]
        lengths[count] = j - i
        count += 1
        i = j
    return count


def _coded(size, rng):
    return rng.integers(0, 100, size["N"]), rng.integers(1, 9, size["N"])


@irregular({"N": 100}, {"N": 300_000}, _coded, lambda values, lengths: {"result": np.repeat(values, lengths)})
def run_length_decoding(values, lengths):
    total = 0
    for r in range(lengths.shape[0]):
        total += lengths[r]
    out = np.empty(total, dtype=np.int64)
    place = 0
    for r in range(values.shape[0]):
        for _ in range(lengths[r]):
            out[place] = values[r]
            place += 1
    return out


def _changes(size, rng):
    """Returns numbers, some of them twice or more, sorted, and room."""
    return np.sort(rng.integers(0, size["N"], size["N"])), np.zeros(size["N"], dtype=np.int64)


def _unique_right(x, out):
    distinct = np.unique(x)
    return {"out": np.pad(distinct, (0, len(x) - len(distinct))), "result": len(distinct)}


@irregular({"N": 400}, {"N": 1_500_000}, _changes, _unique_right)
def unique_of_sorted(x, out):
    """Keeps the first of each number; returns how many."""
    count = 0
    for i in range(x.shape[0]):
        if i == 0 or x[i] != x[i - 1]:
            out[count] = x[i]
            count += 1
    return count


def _brackets(size, rng):
    """Returns a text of brackets, a few of which match none, and room for partners."""
    steps = np.where(rng.random(size["N"]) < 0.5, ord("("), ord(")")).astype(np.uint8)
    return steps, np.zeros(size["N"], dtype=np.int64)


def _brackets_right(text, partner):
    open_places, right = [], np.full(len(text), -1)
    for place, sign in enumerate(bytes(text).decode()):
        if sign == "(":
            open_places.append(place)
        elif open_places:
            partner_place = open_places.pop()
            right[[place, partner_place]] = partner_place, place
    return {"partner": right, "result": np.count_nonzero(right < 0)}


@irregular({"N": 300}, {"N": 500_000}, _brackets, _brackets_right)
def matching_brackets(text, partner):
    """Finds each bracket's partner, or -1, in the codes of letters, where 40 opens one; returns how many have none."""
    n = text.shape[0]
    stack = np.empty(n, dtype=np.int64)
    depth = 0
    unmatched = 0
    for i in range(n):
        partner[i] = -1
        if text[i] == 40:
            stack[depth] = i
            depth += 1
        elif depth > 0:
            depth -= 1
            partner[i] = stack[depth]
            partner[stack[depth]] = i
        else:
            unmatched += 1
    return unmatched + depth
