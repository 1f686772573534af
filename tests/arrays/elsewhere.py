"""Functions for `calls`, in a module of their own."""

FACTOR = 1.5


def centred(x):
    return x - _mean(x)


def swapped_sums(x, y):
    """Adds to each the other's sum."""
    a, b = x.sum(), y.sum()
    x += b
    y += a


def _mean(x):
    return x.sum() / len(x)
