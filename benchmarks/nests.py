"""Loops that several benchmarks of the models are about, and the sizes of their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import polyml
from polyml.model.core.call_interface import value
from polyml.model.core.scop import Scop
from polyml.systolic.recurrences.nests import nests
from polyml.systolic.recurrences.systolic_nest import SystolicNest


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def gemm_ikj(A, B, C):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def transpose(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = A[i, j]


def five_points(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j]


def trsv(L, x):
    for i in range(L.shape[0]):
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def conv2d(image, filters, out):
    for o in range(out.shape[0]):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                for c in range(image.shape[0]):
                    for p in range(3):
                        for q in range(3):
                            out[o, y, x] = out[o, y, x] + image[c, y + p, x + q] * filters[o, c, p, q]


def conv_stride_1(picture, filters, out):
    for o in range(out.shape[0]):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                for c in range(picture.shape[0]):
                    for p in range(filters.shape[2]):
                        for q in range(filters.shape[3]):
                            out[o, y, x] += picture[c, y + p, x + q] * filters[o, c, p, q]


def conv_stride_2(picture, filters, out):
    for o in range(out.shape[0]):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                for c in range(picture.shape[0]):
                    for p in range(filters.shape[2]):
                        for q in range(filters.shape[3]):
                            out[o, y, x] += picture[c, 2 * y + p, 2 * x + q] * filters[o, c, p, q]


def parameters(scop: Scop, function: Callable, arguments: Sequence) -> dict[str, int]:
    """Returns the values of the parameters in a call."""
    named = dict(zip(inspect.signature(function).parameters, arguments))
    return {p.name: value(p, named) for p in scop.parameters}


@dataclass(frozen=True)
class Model:
    """A Model is a function's nest for systolic arrays, with the sizes of a call of it."""

    function: Callable
    scop: Scop
    nest: SystolicNest

    def sizes(self, *shapes: tuple[int, ...]) -> dict[str, int]:
        return parameters(self.scop, self.function, [np.broadcast_to(np.float32(0), shape) for shape in shapes])


def modelled(function: Callable, *shapes: tuple[int, ...]) -> Model:
    """Returns the nest of a function.

    shapes: those of arguments that it takes: sizes that are equal here are equal in all calls of the model.
    """
    arguments = [np.zeros(shape, np.float32) for shape in shapes]
    problem = polyml.kernel(function, cache=False).schedule("source", *arguments).problem
    (nest,) = nests(problem.scop, problem.dependences, problem.reductions)
    return Model(function, problem.scop, nest)
