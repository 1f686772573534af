"""`polyml.freeze`: what it takes, what it gives, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import polyml
from polyml.frontend.library.frozen_arrays import is_immutable

sparse = pytest.importorskip("scipy.sparse")


def test_a_frozen_array_is_returned_itself():
    array = np.arange(3)
    frozen = polyml.freeze(array)
    array[0] = 7
    assert frozen.tolist() == [0, 1, 2] and polyml.freeze(frozen) is frozen


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_the_arrays_of_a_frozen_matrix_are_frozen(form, kind):
    dense = np.array([[1.0, 0, 2, 0], [0, 0, 3, 4]])
    matrix = getattr(sparse, f"{form}_{kind}")(dense)
    frozen = polyml.freeze(matrix)
    assert type(frozen) is type(matrix) and np.array_equal(frozen.toarray(), dense)
    assert is_immutable(frozen.data) and not is_immutable(matrix.data) and polyml.freeze(frozen) is frozen
    matrix.data[...] = 0
    assert np.array_equal(frozen @ np.ones(4), dense @ np.ones(4))


class Own(np.ndarray):
    """An Own is an array of a class that is derived from NumPy's."""


REFUSED = [
    (np.ones(2).view(Own), "polyml.freeze takes an array of NumPy's own class, not a Own\n  note: pass np.asarray of it"),
    (
        np.ma.masked_array([1]),
        "polyml.freeze takes an array of NumPy's own class, not a MaskedArray\n  note: pass np.asarray of it",
    ),
    (np.array([None]), "polyml.freeze takes numbers; these elements are objects, which others may change"),
    ([1, 2], "polyml.freeze takes an array or a sparse matrix, not a list"),
    (sparse.lil_matrix((2, 2)), "polyml.freeze takes an array or a sparse matrix, not a lil_matrix"),
]


@pytest.mark.parametrize(("value", "text"), REFUSED, ids=lambda each: type(each).__name__)
def test_what_cannot_be_frozen_is_refused(value, text):
    with pytest.raises(polyml.PolymlTypeError) as caught:
        polyml.freeze(value)
    assert text.split("\n")[0] in str(caught.value)
