"""Grids of indices and of points at equal distances: np.indices, np.mgrid and np.ogrid, whose slices are arguments here."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import is_integer, is_wide, spaced


def indices(dimensions, dtype=int, sparse=False):
    """Returns the indices of the elements of an array, along each of its dimensions."""
    required(not sparse, "np.indices with sparse=; np.indices(dimensions, dtype)")
    required(len(dimensions) > 0 and len(dimensions) < 4, "np.indices of other than one, two or three dimensions")
    if len(dimensions) == 1:
        grid = np.empty((1, dimensions[0]), dtype=dtype)
        grid[0] = np.arange(dimensions[0])
    elif len(dimensions) == 2:
        grid = np.empty((2, dimensions[0], dimensions[1]), dtype=dtype)
        grid[0] = np.arange(dimensions[0])[:, None]
        grid[1] = np.arange(dimensions[1])
    else:
        grid = np.empty((3, dimensions[0], dimensions[1], dimensions[2]), dtype=dtype)
        grid[0] = np.arange(dimensions[0])[:, None, None]
        grid[1] = np.arange(dimensions[1])[:, None]
        grid[2] = np.arange(dimensions[2])
    return grid


def mgrid(starts, stops, steps, counted, is_tuple):
    """Returns the coordinates of the points of a grid, along each of its dimensions.

    counted: whether a step is a number of points
    is_tuple: whether the slices are a tuple of them
    """
    required(is_tuple is not None and len(starts) < 4, "np.mgrid of other than one, two or three slices with an end")
    first = _points(starts[0], stops[0], steps[0], counted[0], is_tuple, False)
    if not is_tuple:
        return first
    elif len(starts) == 1:
        grid = np.empty((1, first.shape[0]), dtype=first.dtype)
        grid[0] = first
        return grid
    elif len(starts) == 2:
        second = _points(starts[1], stops[1], steps[1], counted[1], is_tuple, False)
        grid = np.empty((2, first.shape[0], second.shape[0]), dtype=np.result_type(first, second))
        grid[0] = first[:, None]
        grid[1] = second
        return grid
    else:
        second = _points(starts[1], stops[1], steps[1], counted[1], is_tuple, False)
        third = _points(starts[2], stops[2], steps[2], counted[2], is_tuple, False)
        shape = (3, first.shape[0], second.shape[0], third.shape[0])
        grid = np.empty(shape, dtype=np.result_type(first, second, third))
        grid[0] = first[:, None, None]
        grid[1] = second[:, None]
        grid[2] = third
        return grid


def ogrid(starts, stops, steps, counted, is_tuple):
    """Returns the coordinates of the points of a grid, each along its own dimension."""
    required(is_tuple is not None and len(starts) < 4, "np.ogrid of other than one, two or three slices with an end")
    first = _points(starts[0], stops[0], steps[0], counted[0], is_tuple, True)
    if not is_tuple:
        return first
    elif len(starts) == 1:
        return (first,)
    elif len(starts) == 2:
        second = _points(starts[1], stops[1], steps[1], counted[1], is_tuple, True)
        rows = np.empty((first.shape[0], 1), dtype=np.result_type(first, second))
        columns = np.empty((1, second.shape[0]), dtype=np.result_type(first, second))
        rows[:, 0] = first
        columns[0] = second
        return rows, columns
    else:
        second = _points(starts[1], stops[1], steps[1], counted[1], is_tuple, True)
        third = _points(starts[2], stops[2], steps[2], counted[2], is_tuple, True)
        planes = np.empty((first.shape[0], 1, 1), dtype=np.result_type(first, second, third))
        lines = np.empty((1, second.shape[0], 1), dtype=np.result_type(first, second, third))
        points = np.empty((1, 1, third.shape[0]), dtype=np.result_type(first, second, third))
        planes[:, 0, 0] = first
        lines[0, :, 0] = second
        points[0, 0] = third
        return planes, lines, points


def _points(start, stop, step, is_count, is_tuple, clipped):
    """Returns the points of a slice: in steps, or where a complex step says how many there are, so many, with both ends.

    clipped: whether there are none where a step leads away from the end, which is an error else
    """
    if is_count:
        required(is_integer(step) and is_wide(start) and is_wide(stop), "a grid of other numbers; ints, int64 and float64")
        required(step >= 0, "a grid of fewer than no points")
        apart = 1.0 if step == 1 else (stop - start) / float(step - 1)
        points = np.arange(step) * apart + start
    elif is_tuple:
        points = spaced(start, stop, step, clipped)
    else:
        points = np.arange(start, stop, step)
    return points


TEXTS = (indices, mgrid, ogrid)
