"""Graphs as lists of neighbours: searches, shortest ways, ranks, components, triangles."""

import itertools

import numpy as np

from polyml.kernels.irregular._irregular import irregular, random_csr, random_graph, rows_of

SMALL, LARGE = {"N": 60, "K": 5}, {"N": 50_000, "K": 10}


def _with_source(size, rng):
    """Returns a graph, the node to start with, and room for a number of each node."""
    return *random_graph(rng, size["N"], size["K"]), 3, np.zeros(size["N"], dtype=np.int64)


def _steps(indptr, indices, source):
    """Returns each node's distance from the source in edges, -1 where there is no way."""
    rows, distance = rows_of(indptr), np.full(len(indptr) - 1, -1)
    distance[source] = 0
    for step in range(len(distance)):
        reached = indices[distance[rows] == step]
        reached = reached[distance[reached] < 0]
        if not len(reached):
            break
        distance[reached] = step + 1
    return distance


def _queue_right(indptr, indices, source, distance):
    right = _steps(indptr, indices, source)
    return {"distance": right, "result": np.count_nonzero(right >= 0)}


@irregular(SMALL, LARGE, _with_source, _queue_right)
def breadth_first_queue(indptr, indices, source, distance):
    """Breadth-first search with a queue; returns how many nodes it reaches."""
    n = distance.shape[0]
    queue = np.empty(n, dtype=np.int64)
    for i in range(n):
        distance[i] = -1
    distance[source] = 0
    queue[0] = source
    head = 0
    tail = 1
    while head < tail:
        node = queue[head]
        head += 1
        for p in range(indptr[node], indptr[node + 1]):
            other = indices[p]
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue[tail] = other
                tail += 1
    return tail


def _levels_right(indptr, indices, source, level):
    right = _steps(indptr, indices, source)
    return {"level": right, "result": right.max() + 1}


@irregular(SMALL, LARGE, _with_source, _levels_right)
def breadth_first_levels(indptr, indices, source, level):
    """Breadth-first search by sweeps over all nodes, one for each level; returns how many levels there are."""
    level[:] = -1
    level[source] = 0
    depth = 0
    found = True
    while found:
        found = False
        for i in range(level.shape[0]):
            if level[i] == depth:
                for p in range(indptr[i], indptr[i + 1]):
                    if level[indices[p]] == -1:
                        level[indices[p]] = depth + 1
                        found = True
        depth += 1
    return depth


def _edges(size, rng):
    """Returns the ends and lengths of edges, the node to start with, and room for distances."""
    ends = rng.integers(0, size["N"], (2, size["N"] * size["K"]))
    return ends[0], ends[1], rng.integers(1, 1000, ends.shape[1]), 0, np.zeros(size["N"], dtype=np.int64)


def _bellman_ford_right(tails, heads, lengths, source, distance):
    right = np.full(len(distance), 10**15)
    right[source] = 0
    before = None
    while before is None or np.any(right != before):
        before = right.copy()
        np.minimum.at(right, heads, before[tails] + lengths)
    return {"distance": np.minimum(right, 10**15)}


@irregular(SMALL, {"N": 20_000, "K": 8}, _edges, _bellman_ford_right)
def bellman_ford(tails, heads, lengths, source, distance):
    """Shortest ways from one node, by rounds over all edges until one changes nothing."""
    for i in range(distance.shape[0]):
        distance[i] = 10**15
    distance[source] = 0
    for _ in range(distance.shape[0]):
        changed = False
        for e in range(tails.shape[0]):
            if distance[tails[e]] < 10**15:
                length = distance[tails[e]] + lengths[e]
                if length < distance[heads[e]]:
                    distance[heads[e]] = length
                    changed = True
        if not changed:
            break


def _links(size, rng):
    """Returns, for each page, the pages that link to it, the counts of links of each page, ranks, damping and tolerance."""
    n = size["N"]
    indptr, indices, _ = random_csr(rng, n, n, size["K"])
    return indptr, indices, np.bincount(indices, minlength=n), np.zeros(n), 0.85, 1e-12


def _pagerank_right(indptr, indices, links, rank, damping, tolerance):
    n, rows = len(rank), rows_of(indptr)
    right = np.full(n, 1 / n)
    for _ in range(200):
        spread = right[links == 0].sum() / n
        share = np.divide(right, links, out=np.zeros(n), where=links > 0)
        right = (1 - damping) / n + damping * (np.bincount(rows, weights=share[indices], minlength=n) + spread)
    return {"rank": right}


@irregular({"N": 40, "K": 4}, {"N": 20_000, "K": 8}, _links, _pagerank_right, tolerance=1e-8, parallel="2:i")
def pagerank(indptr, indices, links, rank, damping, tolerance):
    """Ranks of pages, by iterations until the ranks change by less than the tolerance in sum."""
    n = rank.shape[0]
    share = np.empty(n)
    for i in range(n):
        rank[i] = 1.0 / n
    while True:
        spread = 0.0
        for i in range(n):
            if links[i] == 0:
                spread += rank[i]
            else:
                share[i] = rank[i] / links[i]
        change = 0.0
        for i in range(n):
            total = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                total += share[indices[p]]
            new = (1.0 - damping) / n + damping * (total + spread / n)
            change += abs(new - rank[i])
            rank[i] = new
        if change < tolerance:
            break


def _component_numbers(one, other, nodes):
    """Returns the least node of each node's component."""
    label = np.arange(nodes)
    before = None
    while before is None or np.any(label != before):
        before = label.copy()
        np.minimum.at(label, one, before[other])
        np.minimum.at(label, other, before[one])
        label = label[label]
    return label


def _with_labels(size, rng):
    return *random_graph(rng, size["N"], size["K"]), np.zeros(size["N"], dtype=np.int64)


def _propagation_right(indptr, indices, label):
    return {"label": _component_numbers(rows_of(indptr), indices, len(label))}


@irregular({"N": 60, "K": 2}, {"N": 50_000, "K": 4}, _with_labels, _propagation_right)
def components_by_labels(indptr, indices, label):
    """Connected components: each node takes the least label of its neighbours, until none changes."""
    for i in range(label.shape[0]):
        label[i] = i
    changed = True
    while changed:
        changed = False
        for i in range(label.shape[0]):
            least = label[i]
            for p in range(indptr[i], indptr[i + 1]):
                least = min(least, label[indices[p]])
            if least < label[i]:
                label[i] = least
                changed = True


def _pairs(size, rng):
    """Returns the ends of edges and room for a parent of each node."""
    ends = rng.integers(0, size["N"], (2, size["N"] * size["K"] // 2))
    return ends[0], ends[1], np.zeros(size["N"], dtype=np.int64)


def _union_right(one, other, parent):
    right = _component_numbers(one, other, len(parent))
    return {"parent": right, "result": len(np.unique(right))}


@irregular({"N": 60, "K": 2}, {"N": 100_000, "K": 3}, _pairs, _union_right)
def components_by_union(one, other, parent):
    """Connected components by union-find with path halving; returns how many there are."""
    n = parent.shape[0]
    for i in range(n):
        parent[i] = i
    count = n
    for e in range(one.shape[0]):
        a = one[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = other[e]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[max(a, b)] = min(a, b)
            count -= 1
    for i in range(n):
        root = i
        while parent[root] != root:
            root = parent[root]
        parent[i] = root
    return count


def _triangles_right(indptr, indices):
    A = np.zeros((len(indptr) - 1,) * 2, dtype=np.float32)
    A[rows_of(indptr), indices] = 1
    return {"result": round(np.sum((A @ A) * A, dtype=np.float64) / 6)}


@irregular(
    {"N": 40, "K": 8}, {"N": 1_600, "K": 50},
    lambda size, rng: random_graph(rng, size["N"], size["K"]), _triangles_right, parallel="0:i",
)  # fmt: skip
def triangle_count(indptr, indices):
    """Counts triangles by merging the sorted neighbours of both ends of each edge."""
    count = 0
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j > i:
                a = indptr[i]
                b = indptr[j]
                while a < indptr[i + 1] and b < indptr[j + 1]:
                    if indices[a] < indices[b]:
                        a += 1
                    elif indices[a] > indices[b]:
                        b += 1
                    else:
                        if indices[a] > j:
                            count += 1
                        a += 1
                        b += 1
    return count


def _acyclic(size, rng):
    """Returns the edges of a graph, of which all but a few go from an earlier to a later node of a hidden order, and room."""
    n = size["N"]
    indptr, indices, _ = random_csr(rng, n, n, size["K"])
    names, rows = rng.permutation(n), rows_of(indptr)
    low, high = np.minimum(rows, indices), np.maximum(rows, indices)
    tails, heads = names[low[low < high]], names[high[low < high]]
    order = np.argsort(tails, kind="stable")
    return np.searchsorted(tails[order], np.arange(n + 1)), heads[order], np.zeros(n, dtype=np.int64)


def _order_right(indptr, indices, order):
    """Computed wave by wave: the order within a wave is that in which the nodes lose their last edge."""
    n = len(order)
    waiting, right = np.bincount(indices, minlength=n).tolist(), []
    heads = np.split(indices, indptr[1:-1])
    wave = [i for i in range(n) if not waiting[i]]
    while wave:
        right += wave
        following = []
        for j in itertools.chain.from_iterable(heads[i].tolist() for i in wave):
            waiting[j] -= 1
            if not waiting[j]:
                following.append(j)
        wave = following
    return {"order": np.array(right), "result": len(right)}


@irregular(SMALL, {"N": 50_000, "K": 8}, _acyclic, _order_right)
def topological_order(indptr, indices, order):
    """Kahn's algorithm, with the order itself as the queue; returns how many nodes are in no cycle."""
    n = order.shape[0]
    waiting = np.zeros(n, dtype=np.int64)
    for p in range(indices.shape[0]):
        waiting[indices[p]] += 1
    tail = 0
    for i in range(n):
        if waiting[i] == 0:
            order[tail] = i
            tail += 1
    head = 0
    while head < tail:
        node = order[head]
        head += 1
        for p in range(indptr[node], indptr[node + 1]):
            waiting[indices[p]] -= 1
            if waiting[indices[p]] == 0:
                order[tail] = indices[p]
                tail += 1
    return tail


def _lengths(size, rng):
    """Returns lengths of edges as a matrix, where no edge is longer than any way, and the node to start with."""
    n = size["N"]
    return np.where(rng.random((n, n)) < 0.2, rng.uniform(1, 100, (n, n)), 1e9), 1


def _dijkstra_right(lengths, source):
    right, before = lengths[source].copy(), None
    right[source] = 0.0
    while before is None or np.any(right != before):
        before = right
        right = np.minimum(before, (before[:, None] + lengths).min(axis=0))
    return {"result": right}


@irregular({"N": 40}, {"N": 1500}, _lengths, _dijkstra_right, tolerance=1e-12)
def dijkstra(lengths, source):
    """Shortest ways from one node, the nearest open node by a search over all."""
    n = lengths.shape[0]
    distance = np.full(n, 1e9)
    done = np.zeros(n, dtype=np.bool_)
    distance[source] = 0.0
    for _ in range(n):
        nearest = -1
        for i in range(n):
            if not done[i] and (nearest < 0 or distance[i] < distance[nearest]):
                nearest = i
        if nearest < 0 or distance[nearest] >= 1e9:
            break
        done[nearest] = True
        for i in range(n):
            if not done[i]:
                way = distance[nearest] + lengths[nearest, i]
                if way < distance[i]:
                    distance[i] = way
    return distance


def _all_lengths(size, rng):
    """Returns lengths of edges, and the node after the first on the way between each two."""
    n = size["N"]
    distance = np.where(rng.random((n, n)) < 0.2, rng.integers(1, 1000, (n, n)), 10**9)
    return distance, np.where(distance < 10**9, np.arange(n), -1)


def _floyd_warshall_right(distance, following):
    right, nodes = distance.copy(), following.copy()
    for k in range(len(right)):
        ways = right[:, k, None] + right[k]
        nodes = np.where(ways < right, nodes[:, k, None], nodes)
        right = np.minimum(right, ways)
    return {"distance": right, "following": nodes}


@irregular({"N": 20}, {"N": 200}, _all_lengths, _floyd_warshall_right)
def floyd_warshall_with_ways(distance, following):
    n = distance.shape[0]
    for k in range(n):
        for i in range(n):
            if distance[i, k] < 10**9:
                for j in range(n):
                    if distance[i, k] + distance[k, j] < distance[i, j]:
                        distance[i, j] = distance[i, k] + distance[k, j]
                        following[i, j] = following[i, k]
