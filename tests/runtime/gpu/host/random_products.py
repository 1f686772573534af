"""Random products of matrices: loops in any order around one sum, over dimensions of arrays in any order, with offsets and factors."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable

import numpy as np

_ROLES = {"b": "CAB", "i": "CA", "j": "CB", "k": "AB"}  # loops of each kind, by first letter: which arrays they move in


def random_product(chance: random.Random, number: int) -> tuple[Callable, list[object], Callable]:
    """Returns a function of one product, arguments for it, of which the first is the result, and a function that computes the same in
    NumPy and returns the result.
    """
    loops = [
        f"{kind}{k}" for kind, most in (("b", 1), ("i", 2), ("j", 2), ("k", 2)) for k in range(chance.randint(kind != "b", most))
    ]
    sizes = {loop: chance.randint(1, 5) for loop in loops}
    whole = {loop for loop in loops if loop[1] != "0" and chance.random() < 0.9}  # all of a dimension, so that loops may be one
    offsets = {loop: 0 if loop in whole else chance.choice((0, 0, 0, 1, 2)) for loop in loops}
    dims = {array: [loop for loop in loops if array in _ROLES[loop[0]]] for array in "CAB"}
    for some in dims.values():
        order = chance.sample("bijk", 4)
        some.sort(key=lambda loop: order.index(loop[0]))
        if chance.random() < 0.1:
            chance.shuffle(some)
    alpha, beta = chance.choice(("", "2*", "al*", "-")), chance.choice((None, "C[{}] = 0", "C[{}] *= be"))
    index = {
        array: ", ".join(f"{loop} + {offsets[loop]}" if offsets[loop] else loop for loop in some) for array, some in dims.items()
    }
    lines = [f"def product_{number}(C, A, B, al, be, {', '.join(f'n{loop}' for loop in loops)}):"]
    outer = [loop for loop in loops if loop[0] != "k"]
    chance.shuffle(outer)
    inner = [loop for loop in loops if loop[0] == "k"]
    for loop in outer:
        lines.append("    " * len(lines) + f"for {loop} in range(n{loop}):")
    if beta:
        lines.append("    " * len(lines) + beta.format(index["C"]))
    depth = len(outer) + 1
    for loop in inner:
        lines.append("    " * depth + f"for {loop} in range(n{loop}):")
        depth += 1
    lines.append("    " * depth + f"C[{index['C']}] += {alpha}A[{index['A']}] * B[{index['B']}]")
    dtype = chance.choice((np.float32, np.float64))
    rng = np.random.default_rng(number)
    lengths = {
        array: [sizes[loop] + offsets[loop] + (0 if loop in whole else chance.randint(0, 2)) for loop in dims[array]]
        for array in "CAB"
    }
    arrays = [rng.integers(-2, 3, lengths[array]).astype(dtype) for array in "CAB"]
    function = _function("\n".join(lines) + "\n", f"product_{number}")

    def reference(C, A, B, al, be, *counts):
        parts = {
            array: each[tuple(slice(offsets[loop], offsets[loop] + sizes[loop]) for loop in dims[array])]
            for array, each in zip("CAB", (C, A, B))
        }
        letters = {loop: chr(97 + k) for k, loop in enumerate(loops)}
        left, right, out = ("".join(letters[loop] for loop in dims[array]) for array in "ABC")
        factor = {"": 1, "2*": 2, "al*": al, "-": -1}[alpha]
        first = {None: 1, "C[{}] = 0": 0, "C[{}] *= be": be}[beta]
        parts["C"][...] = factor * np.einsum(f"{left},{right}->{out}", parts["A"], parts["B"]) + first * parts["C"]
        return C

    return function, [*arrays, dtype(3), dtype(2), *sizes.values()], reference


def _function(text: str, name: str) -> Callable:
    """Returns a function of a text, which is in a file so that it can be read."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(text)
    made: dict = {}
    exec(compile(text, file.name, "exec"), made)
    return made[name]
