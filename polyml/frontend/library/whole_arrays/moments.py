"""Averages with weights, and covariances: np.average, np.cov and np.corrcoef."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import is_number, is_real


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """Returns the mean of an array, or of its rows or columns, in which elements count by their weights; and the sum of these."""
    if weights is None:
        required(not returned, "np.average with returned= and no weights; np.mean")
        return np.mean(a, axis=axis, keepdims=keepdims)
    elif weights.ndim == a.ndim:
        required(a.shape == weights.shape, "weights of another shape than their array")
        return _weighted(a, weights, axis, returned, keepdims)
    else:
        required(a.ndim == 2 and weights.ndim == 1 and not returned, "weights of another shape; vectors, for an axis of a matrix")
        required(axis == 0 or axis == 1 or axis == -1 or axis == -2, "a vector of weights without axis=; one axis of a matrix")
        if axis == 0 or axis == -2:
            required(weights.shape[0] == a.shape[0], "weights of another shape than their array")
            return _weighted(a, weights[:, None], axis, returned, keepdims)
        else:
            required(weights.shape[0] == a.shape[1], "weights of another shape than their array")
            return _weighted(a, weights[None, :], axis, returned, keepdims)


def _weighted(a, weights, axis, returned, keepdims):
    """Returns the mean of an array with weights along its dimensions, and their sum. Integers and truth values are float64 there."""
    values = a / 1
    zero = np.zeros(1, dtype=np.result_type(values, weights))
    scale = (weights + zero[0]).sum(axis=axis, keepdims=keepdims)
    if np.any(scale == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = (values * weights).sum(axis=axis, keepdims=keepdims) / scale
    if returned:
        return mean, scale
    else:
        return mean


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Returns the covariances of variables, which are the rows of a matrix, or its columns, or vectors."""
    required(
        fweights is None and aweights is None and dtype is None, "np.cov with weights or dtype=; np.cov(m, y, rowvar, bias, ddof)"
    )
    if m.ndim == 1 and y is None:
        return _variance(m, (0 if bias else 1) if ddof is None else ddof)
    else:
        return _covariances(m, y, rowvar, (0 if bias else 1) if ddof is None else ddof)


def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """Returns the correlations of variables, from -1 to 1: their covariances, divided by both deviations."""
    required(dtype is None and is_real(x), "np.corrcoef of this; np.corrcoef(x, y, rowvar) of real numbers")
    found = _covariances(x, y, rowvar, 1)
    deviations = np.sqrt(np.diagonal(found))
    return np.clip(found / deviations[:, None] / deviations[None, :], -1, 1)


def _variance(m, ddof):
    """Returns the variance of a vector, as an array without dimensions. ddof: what is subtracted from the number of observations"""
    required(is_number(m) or is_real(m), "covariances of this; matrices, or vectors, of numbers")
    required(m.shape[0] > ddof, "covariances of no more observations than degrees of freedom")
    variable = np.empty(m.shape[0], dtype=np.result_type(m, np.float64(0)))
    variable[:] = m
    variable -= variable.mean()
    return np.array((variable * np.conj(variable)).sum() * (1 / (variable.shape[0] - ddof)))


def _covariances(m, y, rowvar, ddof):
    """Returns the covariances of at least two variables. ddof: what is subtracted from the number of observations"""
    required(m.ndim <= 2 and (is_number(m) or is_real(m)), "covariances of this; matrices, or two vectors, of numbers")
    if y is None:
        required(m.ndim == 2, "covariances of a single vector; np.cov, or two vectors")
        given = m if rowvar else m.T
        variables = np.empty((given.shape[0], given.shape[1]), dtype=np.result_type(m, np.float64(0)))
        variables[:] = given
    elif m.ndim == 1:
        required(y.ndim == 1 and m.shape == y.shape, "covariances of a vector and something else; two vectors")
        variables = np.empty((2, m.shape[0]), dtype=np.result_type(m, y, np.float64(0)))
        variables[0] = m
        variables[1] = y
    else:
        required(rowvar and y.ndim == 2, "covariances of columns of two matrices; rows")
        required(m.shape[1] == y.shape[1], "variables with other numbers of observations")
        variables = np.empty((m.shape[0] + y.shape[0], m.shape[1]), dtype=np.result_type(m, y, np.float64(0)))
        variables[: m.shape[0]] = m
        variables[m.shape[0] :] = y
    required(variables.shape[0] > 1, "covariances of a single variable")
    required(variables.shape[1] > ddof, "covariances of no more observations than degrees of freedom")
    variables -= variables.mean(axis=1)[:, None]
    return variables @ np.conj(variables.T) * (1 / (variables.shape[1] - ddof))


TEXTS = (average, cov, corrcoef)
