"""Simulations by chance, with the generator of random numbers written in the function: whole numbers and masks."""

import heapq
import math
from collections.abc import Iterator

import numpy as np

from polyml.kernels.irregular._irregular import irregular


def _congruential(seed, count):
    """Returns the first numbers of the generator x = 1103515245 x + 12345 modulo 2³¹, by steps twice as long each time."""
    made, factor, term = np.array([(seed * 1103515245 + 12345) % 2**31]), 1103515245, 12345
    while len(made) < count:
        made = np.concatenate([made, (made * factor + term) % 2**31])
        factor, term = factor * factor % 2**31, (factor + 1) * term % 2**31
    return made[:count]


def _shifted(seed) -> Iterator[int]:
    """Yields the numbers of Marsaglia's generator of 32 bits with the shifts 13, 17 and 5."""
    while True:
        seed = seed ^ seed * 2**13 % 2**32
        seed = seed ^ seed // 2**17
        seed = seed ^ seed * 2**5 % 2**32
        yield seed


def _pi_right(samples, seed):
    x, y = (_congruential(seed, 2 * samples) // 2**11).reshape(-1, 2).T
    return {"result": np.count_nonzero(x * x + y * y < 2**40)}


@irregular({"N": 500}, {"N": 3_000_000}, lambda size, rng: (size["N"], int(rng.integers(1, 2**31))), _pi_right)
def pi_by_chance(samples, seed):
    """Returns how many random points of a square are within the circle."""
    state = seed
    inside = 0
    for _ in range(samples):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        x = state >> 11
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        y = state >> 11
        if x * x + y * y < 1 << 40:
            inside += 1
    return inside


def _lattice(size, rng):
    """Returns spins, the chances of steps that cost energy as numbers below 2³¹, how many steps there are, and the seed."""
    spins = rng.choice(np.array([-1, 1], dtype=np.int8), (size["N"], size["N"]))
    chances = (2**31 * np.exp(-0.44 * np.array([0, 4, 8]))).astype(np.int64)
    return spins, chances, size["T"], int(rng.integers(1, 2**31))


def _ising_right(spins, chances, steps, seed):
    """Computed on lists, with all random numbers made before."""
    n, flips = len(spins), 0
    right = spins.tolist()
    draws = _congruential(seed, 3 * steps)
    places = (draws // 2**8 % n).reshape(-1, 3)[:, :2].tolist()
    for (i, j), draw in zip(places, draws[2::3].tolist()):
        around = right[i - 1][j] + right[(i + 1) % n][j] + right[i][j - 1] + right[i][(j + 1) % n]
        cost = right[i][j] * around
        if cost <= 0 or draw < chances[cost // 2]:
            right[i][j] *= -1
            flips += 1
    return {"spins": np.array(right), "result": flips}


@irregular({"N": 12, "T": 300}, {"N": 64, "T": 300_000}, _lattice, _ising_right)
def ising_model(spins, chances, steps, seed):
    """Metropolis's steps on a torus; returns how many spins were turned."""
    n = spins.shape[0]
    state = seed
    flips = 0
    for _ in range(steps):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        i = (state >> 8) % n
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        j = (state >> 8) % n
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        around = spins[(i + n - 1) % n, j] + spins[(i + 1) % n, j] + spins[i, (j + n - 1) % n] + spins[i, (j + 1) % n]
        cost = spins[i, j] * around
        if cost <= 0 or state < chances[cost // 2]:
            spins[i, j] = -spins[i, j]
            flips += 1
    return flips


def _walks(size, rng):
    """Returns the count of steps, the seed, and room for how often each place is visited."""
    return size["T"], int(rng.integers(1, 2**32)), np.zeros((size["N"], size["N"]), dtype=np.int64)


def _walk_right(steps, seed, visits):
    draws = np.fromiter(_shifted(seed), dtype=np.int64, count=steps) // 2**30
    n = len(visits)
    x = n // 2 + np.cumsum((draws == 0) * 1 - (draws == 1))
    y = n // 2 + np.cumsum((draws == 2) * 1 - (draws == 3))
    right = np.zeros_like(visits)
    np.add.at(right, (x % n, y % n), 1)
    return {"visits": right}


@irregular({"N": 20, "T": 300}, {"N": 200, "T": 500_000}, _walks, _walk_right)
def random_walk(steps, seed, visits):
    """Walks over a torus and counts the visits of each place."""
    n = visits.shape[0]
    x = n // 2
    y = n // 2
    state = seed
    for _ in range(steps):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        way = state >> 30
        if way == 0:
            x += 1
        elif way == 1:
            x -= 1
        elif way == 2:
            y += 1
        else:
            y -= 1
        if x < 0:
            x = n - 1
        elif x == n:
            x = 0
        if y < 0:
            y = n - 1
        elif y == n:
            y = 0
        visits[x, y] += 1


def _shuffled_right(x, seed):
    right, draws = x.tolist(), _shifted(seed)
    drawn = []
    while right:
        place = next(draws) % len(right) if len(right) > 1 else 0
        right[place], right[-1] = right[-1], right[place]
        drawn.append(right.pop())
    return {"x": np.array(drawn[::-1])}


@irregular(
    {"N": 300}, {"N": 1_000_000},
    lambda size, rng: (rng.integers(0, 10**6, size["N"]), int(rng.integers(1, 2**32))), _shuffled_right,
)  # fmt: skip
def shuffle(x, seed):
    state = seed
    for i in range(x.shape[0] - 1, 0, -1):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        j = state % (i + 1)
        x[i], x[j] = x[j], x[i]


def _paths(size, rng):
    """Returns a seed for each path, the count of steps, the barrier, the strike, and room for what each path pays."""
    return rng.integers(1, 2**31, size["N"]), size["T"], 120.0, 95.0, np.zeros(size["N"])


def _paths_right(seeds, steps, barrier, strike, pays):
    logarithm, out = np.full(len(seeds), math.log(100.0)), np.zeros(len(seeds), dtype=bool)
    state = seeds.copy()
    for _ in range(steps):
        total = np.zeros(len(seeds))
        for _ in range(4):
            state = (state * 1103515245 + 12345) % 2**31
            total += state / 2**31
        logarithm += 0.02 * (total - 2.0)
        out |= np.exp(logarithm) > barrier
    return {"pays": np.where(out, 0.0, np.maximum(np.exp(logarithm) - strike, 0.0))}


@irregular({"N": 10, "T": 20}, {"N": 4000, "T": 200}, _paths, _paths_right, tolerance=1e-9, parallel="0:p")
def barrier_option(seeds, steps, barrier, strike, pays):
    """Follows prices until they pass the barrier, where the option is worth nothing."""
    for p in range(seeds.shape[0]):
        state = seeds[p]
        price = 100.0
        alive = True
        for _ in range(steps):
            total = 0.0
            for _ in range(4):
                state = (state * 1103515245 + 12345) & 0x7FFFFFFF
                total += state / 2147483648.0
            price *= math.exp(0.02 * (total - 2.0))
            if price > barrier:
                alive = False
                break
        pays[p] = max(price - strike, 0.0) if alive else 0.0


def _percolation_right(n, seed):
    """Computed as the way down whose latest site is opened first, by Dijkstra's algorithm on the times of opening."""
    draws = _congruential(seed, 16 * n * n) // 2**7 % (n * n)
    sites, first = np.unique(draws, return_index=True)
    times = dict(zip(sites.tolist(), first.tolist()))
    waiting = [(times[j], j) for j in range(n) if j in times]
    heapq.heapify(waiting)
    done = set()
    while waiting:
        time, site = heapq.heappop(waiting)
        if site >= n * (n - 1):
            return {"result": np.count_nonzero(first <= time)}
        if site not in done:
            done.add(site)
            sides = [site + n, site - n] + [site - 1] * (site % n > 0) + [site + 1] * (site % n < n - 1)
            for other in sides:
                if other in times and other not in done:
                    heapq.heappush(waiting, (max(time, times[other]), other))
    return {"result": -1}


@irregular({"N": 8}, {"N": 400}, lambda size, rng: (size["N"], int(rng.integers(1, 2**31))), _percolation_right)
def percolation(n, seed):
    """Opens sites by chance until a way leads from top to bottom; returns how many are open then."""
    top = n * n
    bottom = n * n + 1
    parent = np.arange(n * n + 2)
    is_open = np.zeros(n * n, dtype=np.bool_)
    opened = 0
    state = seed
    while True:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        site = (state >> 7) % (n * n)
        if is_open[site]:
            continue
        is_open[site] = True
        opened += 1
        for side in range(4):
            other = -1
            if side == 0:
                other = site - n if site >= n else top
            elif side == 1:
                other = site + n if site < n * (n - 1) else bottom
            elif side == 2 and site % n > 0:
                other = site - 1
            elif side == 3 and site % n < n - 1:
                other = site + 1
            if other < 0 or (other < n * n and not is_open[other]):
                continue
            a = site
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            b = other
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            parent[a] = b
        a = top
        while parent[a] != a:
            a = parent[a]
        b = bottom
        while parent[b] != b:
            b = parent[b]
        if a == b:
            return opened
