"""Images and boards: resampling, labels of connected parts, filling, medians, seams, and the game of life."""

import numpy as np

from polyml.kernels.irregular._irregular import irregular


def _two_sizes(size, rng):
    """Returns an image, and room for it at another size."""
    return rng.uniform(0, 1, (size["N"], size["N"] + 3)), np.zeros((size["M"], size["M"] + 2))


def _resampled_right(image, out):
    """Computed along rows and then along columns, by matrices of weights, which are hats around each pixel."""

    def weights(new, old):
        places = np.arange(new) * (old - 1) / (new - 1)
        return np.maximum(0, 1 - np.abs(places[:, None] - np.arange(old)))

    return {"out": weights(out.shape[0], image.shape[0]) @ image @ weights(out.shape[1], image.shape[1]).T}


@irregular({"N": 12, "M": 17}, {"N": 500, "M": 1200}, _two_sizes, _resampled_right, tolerance=1e-11, parallel="0:i")
def bilinear_resampling(image, out):
    down = (image.shape[0] - 1) / (out.shape[0] - 1)
    across = (image.shape[1] - 1) / (out.shape[1] - 1)
    for i in range(out.shape[0]):
        y0 = min(int(i * down), image.shape[0] - 2)
        fy = i * down - y0
        for j in range(out.shape[1]):
            x0 = min(int(j * across), image.shape[1] - 2)
            fx = j * across - x0
            upper = image[y0, x0] * (1.0 - fx) + image[y0, x0 + 1] * fx
            lower = image[y0 + 1, x0] * (1.0 - fx) + image[y0 + 1, x0 + 1] * fx
            out[i, j] = upper * (1.0 - fy) + lower * fy


def _least_places(image):
    """Returns for each pixel of the foreground the least place of its connected part, and -1 elsewhere."""
    places = np.arange(image.size).reshape(image.shape)
    label = np.pad(np.where(image, places, image.size), 1, constant_values=image.size)
    before = None
    while before is None or np.any(label != before):
        before = label.copy()
        inner = np.stack([label[1:-1, 1:-1], label[:-2, 1:-1], label[2:, 1:-1], label[1:-1, :-2], label[1:-1, 2:]]).min(axis=0)
        reached = np.where(image, inner, image.size)
        pointed = np.append(reached.reshape(-1), image.size)
        label[1:-1, 1:-1] = pointed[reached]
    return np.where(image, label[1:-1, 1:-1], -1)


def _spots(size, rng):
    """Returns an image of two values, and room for labels."""
    return rng.random((size["N"], size["N"])) < 0.55, np.zeros((size["N"], size["N"]), dtype=np.int64)


def _labels_right(image, labels):
    least = _least_places(image)
    first = np.unique(least[image])
    return {"labels": np.where(image, np.searchsorted(first, least) + 1, 0), "result": len(first)}


@irregular({"N": 16}, {"N": 700}, _spots, _labels_right)
def connected_parts(image, labels):
    """Labels connected parts in two passes, with the labels that meet joined; returns how many parts there are."""
    h, w = image.shape
    parent = np.zeros(h * w + 1, dtype=np.int64)
    used = 0
    for i in range(h):
        for j in range(w):
            labels[i, j] = 0
            if not image[i, j]:
                continue
            above = labels[i - 1, j] if i > 0 else 0
            left = labels[i, j - 1] if j > 0 else 0
            if above == 0 and left == 0:
                used += 1
                parent[used] = used
                labels[i, j] = used
            elif above == 0 or left == 0:
                labels[i, j] = above + left
            else:
                while parent[above] != above:
                    above = parent[above]
                while parent[left] != left:
                    left = parent[left]
                parent[max(above, left)] = min(above, left)
                labels[i, j] = min(above, left)
    number = np.zeros(used + 1, dtype=np.int64)
    parts = 0
    for k in range(1, used + 1):
        if parent[k] == k:
            parts += 1
            number[k] = parts
        else:
            number[k] = number[parent[k]]
    for i in range(h):
        for j in range(w):
            labels[i, j] = number[labels[i, j]]
    return parts


def _area(size, rng):
    """Returns an image of few colours, most of it of one that is connected, a pixel of it, and the new colour."""
    image = np.where(rng.random((size["N"], size["N"])) < 0.7, 1, rng.integers(2, 5, (size["N"], size["N"])))
    middle = size["N"] // 2
    image[middle, :] = 1
    return image.astype(np.int32), middle, middle, 9


def _filled_right(image, row, column, colour):
    least = _least_places(image == image[row, column])
    area = least == least[row, column]
    return {"image": np.where(area, colour, image), "result": np.count_nonzero(area)}


@irregular({"N": 16}, {"N": 700}, _area, _filled_right)
def flood_fill(image, row, column, colour):
    """Fills with a stack of pixels; returns how many are filled."""
    h, w = image.shape
    old = image[row, column]
    if old == colour:
        return 0
    stack = np.empty((h * w, 2), dtype=np.int64)
    stack[0, 0] = row
    stack[0, 1] = column
    image[row, column] = colour
    depth = 1
    filled = 0
    while depth > 0:
        depth -= 1
        i = stack[depth, 0]
        j = stack[depth, 1]
        filled += 1
        for k in range(4):
            y = i + (1 if k == 0 else -1 if k == 1 else 0)
            x = j + (1 if k == 2 else -1 if k == 3 else 0)
            if y >= 0 and y < h and x >= 0 and x < w and image[y, x] == old:
                image[y, x] = colour
                stack[depth, 0] = y
                stack[depth, 1] = x
                depth += 1
    return filled


def _noisy(size, rng):
    image = rng.integers(0, 256, (size["N"], size["N"])).astype(np.uint8)
    return image, np.zeros_like(image)


def _medians_right(image, out):
    right = np.zeros_like(image)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    right[1:-1, 1:-1] = np.median(windows.reshape(*windows.shape[:2], 9), axis=2)
    return {"out": right}


@irregular({"N": 12}, {"N": 200}, _noisy, _medians_right)
def median_filter(image, out):
    """Sorts the nine pixels around each one by insertion."""
    window = np.empty(9, dtype=np.uint8)
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            count = 0
            for y in range(i - 1, i + 2):
                for x in range(j - 1, j + 2):
                    value = image[y, x]
                    k = count
                    while k > 0 and window[k - 1] > value:
                        window[k] = window[k - 1]
                        k -= 1
                    window[k] = value
                    count += 1
            out[i, j] = window[4]


def _energy(size, rng):
    return rng.integers(0, 10**6, (size["N"], size["N"])), np.zeros(size["N"], dtype=np.int64)


def _seam_right(energy, seam):
    """Computed from the bottom up, then followed from the top."""
    after = np.zeros_like(energy)
    edge = np.iinfo(np.int64).max // 2
    for i in range(len(energy) - 2, -1, -1):
        below = np.pad(after[i + 1] + energy[i + 1], 1, constant_values=edge)
        after[i] = np.minimum(np.minimum(below[:-2], below[1:-1]), below[2:])
    j = int(np.argmin(energy[0] + after[0]))
    right, total = [j], energy[0, j] + after[0, j]
    for i in range(1, len(energy)):
        choices = range(max(j - 1, 0), min(j + 2, energy.shape[1]))
        j = min(choices, key=lambda c: energy[i, c] + after[i, c])
        right.append(j)
    return {"seam": np.array(right), "result": total}


@irregular({"N": 16}, {"N": 1800}, _energy, _seam_right)
def seam_of_least_energy(energy, seam):
    """Finds the way down on which the sum is least; returns the sum."""
    h, w = energy.shape
    total = energy.copy()
    for i in range(1, h):
        for j in range(w):
            best = total[i - 1, j]
            if j > 0 and total[i - 1, j - 1] < best:
                best = total[i - 1, j - 1]
            if j < w - 1 and total[i - 1, j + 1] < best:
                best = total[i - 1, j + 1]
            total[i, j] += best
    last = 0
    for j in range(1, w):
        if total[h - 1, j] < total[h - 1, last]:
            last = j
    seam[h - 1] = last
    for i in range(h - 1, 0, -1):
        j = seam[i]
        best = j
        if j > 0 and total[i - 1, j - 1] < total[i - 1, best]:
            best = j - 1
        if j < w - 1 and total[i - 1, j + 1] < total[i - 1, best]:
            best = j + 1
        seam[i - 1] = best
    return total[h - 1, last]


def _board(size, rng):
    """Returns a board whose border is dead, and the most generations."""
    board = (rng.random((size["N"], size["N"])) < 0.4).astype(np.uint8)
    board[[0, -1]] = 0
    board[:, [0, -1]] = 0
    return board, size["G"]


def _life_right(board, limit):
    boards = [board]
    while len(boards) <= limit:
        now = boards[-1]
        columns = now[:-2] + now[1:-1] + now[2:]
        around = columns[:, :-2] + columns[:, 1:-1] + columns[:, 2:]
        new = np.pad((around == 3) | ((around == 4) & (now[1:-1, 1:-1] == 1)), 1).astype(np.uint8)
        boards.append(new)
        if len(boards) > 2 and np.array_equal(new, boards[-3]):
            break
    return {"board": boards[-1], "result": len(boards) - 1}


@irregular({"N": 9, "G": 40}, {"N": 100, "G": 3000}, _board, _life_right)
def life_until_stable(board, limit):
    """Plays until a board is that of two generations before; returns how many generations there were."""
    h, w = board.shape
    before = np.zeros((h, w), dtype=np.uint8)
    new = np.zeros((h, w), dtype=np.uint8)
    for generation in range(limit):
        same = generation > 0
        for i in range(1, h - 1):
            for j in range(1, w - 1):
                around = 0
                for y in range(i - 1, i + 2):
                    for x in range(j - 1, j + 2):
                        around += board[y, x]
                new[i, j] = 1 if around == 3 or (around == 4 and board[i, j] == 1) else 0
                if new[i, j] != before[i, j]:
                    same = False
        for i in range(h):
            for j in range(w):
                before[i, j] = board[i, j]
                board[i, j] = new[i, j]
        if same:
            return generation + 1
    return limit
