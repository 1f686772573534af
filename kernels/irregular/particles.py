"""Points: forces within a distance, cells, clusters, neighbours, polygons, hulls and rays."""

import math

import numpy as np

from polyml.kernels.irregular._irregular import irregular


def _cloud(size, rng):
    """Returns points in the unit cube, how far forces reach, and room for forces."""
    return rng.uniform(0, 1, (size["N"], 3)), 0.2, np.zeros((size["N"], 3))


def _forces_right(points, reach, forces):
    right = np.zeros_like(points)
    for i, point in enumerate(points):
        apart = points - point
        squares = (apart * apart).sum(axis=1)
        near = (squares < reach * reach) & (squares > 0)
        right[i] = ((1 / squares[near] - 1 / reach**2)[:, None] * apart[near]).sum(axis=0)
    return {"forces": right}


@irregular({"N": 20}, {"N": 1500}, _cloud, _forces_right, tolerance=1e-10, parallel="0:i")
def forces_within_reach(points, reach, forces):
    n = points.shape[0]
    for i in range(n):
        fx = 0.0
        fy = 0.0
        fz = 0.0
        for j in range(n):
            if i == j:
                continue
            dx = points[j, 0] - points[i, 0]
            dy = points[j, 1] - points[i, 1]
            dz = points[j, 2] - points[i, 2]
            square = dx * dx + dy * dy + dz * dz
            if square < reach * reach:
                f = 1.0 / square - 1.0 / (reach * reach)
                fx += f * dx
                fy += f * dy
                fz += f * dz
        forces[i, 0] = fx
        forces[i, 1] = fy
        forces[i, 2] = fz


def _flat_cloud(size, rng):
    """Returns points in the unit square, the reach, and room for an energy of each."""
    return rng.uniform(0, 1, (size["N"], 2)), size["R"] / 1000, np.zeros(size["N"])


def _energies_right(points, reach, energy):
    right = np.zeros(len(points))
    for i, point in enumerate(points):
        near = points[np.abs(points[:, 0] - point[0]) < reach]
        squares = ((near - point) ** 2).sum(axis=1) / reach**2
        right[i] = np.sum((1 - squares[squares < 1]) ** 2) - 1
    return {"energy": right}


@irregular({"N": 40, "R": 300}, {"N": 10_000, "R": 20}, _flat_cloud, _energies_right, tolerance=1e-10, parallel="1:i")
def cell_lists(points, reach, energy):
    """Sorts points into cells as linked lists; each one then looks at the cells around its own."""
    n = points.shape[0]
    cells = int(1.0 / reach)
    head = np.full((cells, cells), -1)
    following = np.empty(n, dtype=np.int64)
    for i in range(n):
        cx = int(points[i, 0] * cells)
        cy = int(points[i, 1] * cells)
        following[i] = head[cx, cy]
        head[cx, cy] = i
    for i in range(n):
        cx = int(points[i, 0] * cells)
        cy = int(points[i, 1] * cells)
        total = 0.0
        for x in range(max(cx - 1, 0), min(cx + 2, cells)):
            for y in range(max(cy - 1, 0), min(cy + 2, cells)):
                j = head[x, y]
                while j >= 0:
                    if j != i:
                        dx = points[i, 0] - points[j, 0]
                        dy = points[i, 1] - points[j, 1]
                        s = (dx * dx + dy * dy) / (reach * reach)
                        if s < 1.0:
                            total += (1.0 - s) * (1.0 - s)
                    j = following[j]
        energy[i] = total


def _groups(size, rng):
    """Returns points around some places, and points to start from as centres, and room for labels."""
    places = rng.uniform(0, 10, (size["K"], size["D"]))
    points = places[rng.integers(0, size["K"], size["N"])] + rng.normal(0, 0.8, (size["N"], size["D"]))
    return points, points[: size["K"]].copy(), np.full(size["N"], -1)


def _k_means_right(points, centres, labels):
    right, label, rounds = centres.copy(), None, 0
    while True:
        rounds += 1
        new = np.argmin(((points[:, None] - right) ** 2).sum(axis=2), axis=1)
        if label is not None and np.array_equal(new, label):
            return {"centres": right, "labels": label, "result": rounds}
        label = new
        for k in range(len(right)):
            if np.any(label == k):
                right[k] = points[label == k].mean(axis=0)


@irregular({"N": 30, "K": 3, "D": 2}, {"N": 10_000, "K": 8, "D": 3}, _groups, _k_means_right, tolerance=1e-10, parallel="0:i")
def k_means(points, centres, labels):
    """Moves centres until no point changes its label; returns how many rounds that takes."""
    n, d = points.shape
    k = centres.shape[0]
    sums = np.zeros((k, d))
    counts = np.zeros(k, dtype=np.int64)
    rounds = 0
    changed = 1
    while changed > 0:
        rounds += 1
        changed = 0
        for i in range(n):
            best = 1e300
            nearest = 0
            for c in range(k):
                square = 0.0
                for m in range(d):
                    square += (points[i, m] - centres[c, m]) ** 2
                if square < best:
                    best = square
                    nearest = c
            if labels[i] != nearest:
                labels[i] = nearest
                changed += 1
        if changed > 0:
            sums[:, :] = 0.0
            counts[:] = 0
            for i in range(n):
                counts[labels[i]] += 1
                for m in range(d):
                    sums[labels[i], m] += points[i, m]
            for c in range(k):
                if counts[c] > 0:
                    for m in range(d):
                        centres[c, m] = sums[c, m] / counts[c]
    return rounds


def _crowds(size, rng):
    """Returns points in crowds and between them, the reach, how many make a crowd, and room for labels."""
    places = rng.uniform(0, 1, (size["K"], 2))
    points = places[rng.integers(0, size["K"], size["N"])] + rng.normal(0, 0.02, (size["N"], 2))
    points[::8] = rng.uniform(0, 1, points[::8].shape)
    return points, size["R"] / 1000, 5, np.zeros(size["N"], dtype=np.int64)


def _dbscan_right(points, reach, least, labels):
    """Computed from the matrix of who is near whom: connected crowded points have one label, others the first near one."""
    near = ((points[:, None] - points) ** 2).sum(axis=2) <= reach * reach
    crowded = near.sum(axis=1) >= least
    group, before = np.where(crowded, np.arange(len(points)), len(points)), None
    while before is None or np.any(group != before):
        before = group
        group = np.where(crowded, np.where(near, group, len(points)).min(axis=1), len(points))
    first = np.unique(group[crowded])
    right = np.where(near & crowded, group, len(points)).min(axis=1)
    return {"labels": np.where(right < len(points), np.searchsorted(first, right), -1), "result": len(first)}


@irregular({"N": 40, "K": 3, "R": 50}, {"N": 2500, "K": 12, "R": 12}, _crowds, _dbscan_right)
def dbscan(points, reach, least, labels):
    """Finds crowds with a queue of points that are still to be looked at; returns how many there are."""
    n = points.shape[0]
    queue = np.empty(n, dtype=np.int64)
    near = np.empty(n, dtype=np.int64)
    labels[:] = -2
    clusters = 0
    for start in range(n):
        if labels[start] != -2:
            continue
        queue[0] = start
        head = 0
        tail = 1
        grown = False
        while head < tail:
            i = queue[head]
            head += 1
            count = 0
            for j in range(n):
                dx = points[i, 0] - points[j, 0]
                dy = points[i, 1] - points[j, 1]
                if dx * dx + dy * dy <= reach * reach:
                    near[count] = j
                    count += 1
            if count < least:
                continue
            grown = True
            labels[start] = clusters
            for k in range(count):
                j = near[k]
                if labels[j] == -2:
                    queue[tail] = j
                    tail += 1
                if labels[j] < 0:
                    labels[j] = clusters
        if grown:
            clusters += 1
        else:
            labels[start] = -1
    return clusters


def _queries(size, rng):
    """Returns points, points whose nearest one is sought, and room for its place."""
    d = size["D"]
    return rng.uniform(0, 1, (size["N"], d)), rng.uniform(0, 1, (size["Q"], d)), np.zeros(size["Q"], dtype=np.int64)


def _nearest_right(points, queries, nearest):
    return {"nearest": np.array([np.argmin(((points - q) ** 2).sum(axis=1)) for q in queries])}


@irregular({"N": 30, "Q": 5, "D": 8}, {"N": 2000, "Q": 300, "D": 16}, _queries, _nearest_right, parallel="0:q")
def nearest_neighbours(points, queries, nearest):
    """Looks at all points, each only until it is farther than the nearest so far."""
    for q in range(queries.shape[0]):
        best = 1e300
        for i in range(points.shape[0]):
            square = 0.0
            for d in range(points.shape[1]):
                square += (points[i, d] - queries[q, d]) ** 2
                if square >= best:
                    break
            if square < best:
                best = square
                nearest[q] = i


def _polygon(size, rng):
    """Returns the corners of a star, points, and room for what is inside."""
    m = size["M"]
    angles, radii = 2 * np.pi * np.arange(m) / m, rng.uniform(0.3, 1, m)
    corners = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    return corners, rng.uniform(-1, 1, (size["N"], 2)), np.zeros(size["N"], dtype=np.bool_)


def _inside_right(corners, points, inside):
    """Computed by the sum of the angles under which a point sees the edges."""
    turns = np.zeros(len(points))
    for a, b in zip(corners, np.roll(corners, -1, axis=0)):
        one, other = a - points, b - points
        cross = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
        turns += np.arctan2(cross, (one * other).sum(axis=1))
    return {"inside": np.abs(turns) > np.pi}


@irregular({"N": 30, "M": 12}, {"N": 50_000, "M": 64}, _polygon, _inside_right, parallel="0:p")
def points_in_polygon(corners, points, inside):
    m = corners.shape[0]
    for p in range(points.shape[0]):
        x = points[p, 0]
        y = points[p, 1]
        odd = False
        j = m - 1
        for i in range(m):
            if (corners[i, 1] > y) != (corners[j, 1] > y):
                slope = (corners[j, 0] - corners[i, 0]) / (corners[j, 1] - corners[i, 1])
                if x < corners[i, 0] + slope * (y - corners[i, 1]):
                    odd = not odd
            j = i
        inside[p] = odd


def _sorted_points(size, rng):
    """Returns points of whole numbers on a disc, from left to right, and room for the places of corners."""
    radius, angle = 1e5 * np.sqrt(rng.random(size["N"])), 2 * np.pi * rng.random(size["N"])
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).round().astype(np.int64)
    return np.unique(points, axis=0), np.full(2 * size["N"], -1)


def _hull_right(points, hull):
    """Computed as one wraps a gift: the next corner has all points on its left."""
    corners = [0]
    while len(corners) < 2 or corners[-1] != 0:
        here, candidate = points[corners[-1]], int(corners[-1] == 0)
        while True:
            one, all_of = points[candidate] - here, points - here
            cross = one[0] * all_of[:, 1] - one[1] * all_of[:, 0]
            longer = (cross == 0) & ((all_of**2).sum(axis=1) > (one**2).sum())
            better = np.flatnonzero((cross < 0) | longer)
            if not len(better):
                break
            candidate = int(better[np.argmin(cross[better])])
        corners.append(candidate)
    corners.pop()
    return {"hull": np.pad(corners, (0, len(hull) - len(corners)), constant_values=-1), "result": len(corners)}


@irregular({"N": 60}, {"N": 100_000}, _sorted_points, _hull_right)
def convex_hull(points, hull):
    """Andrew's monotone chain, to the right below and to the left above; returns how many corners there are."""
    n = points.shape[0]
    count = 0
    least = 2
    for step in range(2 * n - 1):
        i = step if step < n else 2 * n - 2 - step
        while count >= least:
            a = hull[count - 2]
            b = hull[count - 1]
            dx = points[b, 0] - points[a, 0]
            dy = points[b, 1] - points[a, 1]
            if dx * (points[i, 1] - points[a, 1]) - dy * (points[i, 0] - points[a, 0]) > 0:
                break
            count -= 1
            hull[count] = -1
        hull[count] = i
        count += 1
        if step == n - 1:
            least = count + 1
    count -= 1
    hull[count] = -1
    return count


def _scene(size, rng):
    """Returns spheres as (x, y, z, radius), and room for the depths of an image."""
    k = size["K"]
    spheres = np.column_stack([rng.uniform(-1, 1, (k, 2)), rng.uniform(2, 5, k), rng.uniform(0.1, 0.5, k)])
    return spheres, np.zeros((size["N"], size["N"]))


def _depths_right(spheres, depth):
    """Computed by the formula for a ray and a sphere; 10 where a ray meets none."""
    n = len(depth)
    grid = (np.arange(n) + 0.5) / n * 2 - 1
    rays = np.stack(np.broadcast_arrays(grid, grid[:, None], 1.0), axis=2)
    rays /= np.linalg.norm(rays, axis=2, keepdims=True)
    right = np.full((n, n), 10.0)
    for sphere in spheres:
        along = rays @ sphere[:3]
        under = along**2 - sphere[:3] @ sphere[:3] + sphere[3] ** 2
        right = np.where(under > 0, np.minimum(right, along - np.sqrt(np.maximum(under, 0))), right)
    return {"depth": right}


@irregular({"N": 7, "K": 3}, {"N": 96, "K": 8}, _scene, _depths_right, tolerance=1e-4, parallel="0:i")
def ray_marching(spheres, depth):
    """Goes along each ray as far as no sphere can be, until one is near or the ray has left the scene."""
    n = depth.shape[0]
    for i in range(n):
        for j in range(n):
            x = (j + 0.5) / n * 2.0 - 1.0
            y = (i + 0.5) / n * 2.0 - 1.0
            length = math.sqrt(x * x + y * y + 1.0)
            t = 0.0
            while t < 10.0:
                nearest = 1e300
                for s in range(spheres.shape[0]):
                    dx = x / length * t - spheres[s, 0]
                    dy = y / length * t - spheres[s, 1]
                    dz = 1.0 / length * t - spheres[s, 2]
                    nearest = min(nearest, math.sqrt(dx * dx + dy * dy + dz * dz) - spheres[s, 3])
                if nearest < 1e-9:
                    break
                t += nearest
            depth[i, j] = min(t, 10.0)
