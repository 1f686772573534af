"""Arguments of random functions as Python expressions, so that a program and its calls are one script."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.irregular.writer import OF_ROWS, Parameter

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
MANY = 60  # times as many rows in a large call
TRAITS = {
    "out of range": 0.125,
    "negative": 0.25,
    "not a number": 0.1,
    "unsorted pointers": 0.06,
    "views": 0.15,
    "shared memory": 0.08,
    "frozen": 0.12,
}


@dataclass(frozen=True)
class _Sizes:
    """The _Sizes of a call are its numbers of rows, entries and columns of a matrix; is_many: the first two times many."""

    n: int
    m: int
    p: int
    is_many: bool = False


def argument_sets(
    rng: random.Random, parameters: Sequence[Parameter], is_linear: bool
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Returns the arguments of two calls as texts, and what is odd about them.

    is_linear: no loop over all rows is inside another loop. The second call of some of these programs has many rows, which threads
        may share.
    """
    traits = tuple(trait for trait, share in TRAITS.items() if rng.random() < share)
    sizes = [_Sizes(rng.choice(SIZES), rng.choice(SIZES), rng.randint(0, 5)) for _ in range(2)]
    if rng.random() < 0.9 and sizes[0].n < 2:
        sizes[0] = _Sizes(rng.randint(2, 12), rng.randint(2, 12), rng.randint(1, 5))
    if is_linear and rng.random() < 0.25:
        traits, sizes[1] = (*traits, "many rows"), _Sizes(12, 12, 3, is_many=True)
    calls = [tuple(_argument(rng, parameter, size, traits) for parameter in parameters) for size in sizes]
    if "shared memory" in traits:
        calls[0] = _shared(rng, parameters, calls[0])
    return tuple(calls), traits


def _argument(rng: random.Random, parameter: Parameter, size: _Sizes, traits: tuple[str, ...]) -> str:
    match parameter.kind:
        case "size":
            return str(size.n * (MANY if size.is_many else 1))
        case "whole":
            return str(rng.randint(-2, 9))
        case "real":
            return str(rng.choice((0.5, 1.25, -0.75, 2.0, 0.0)))
        case "matrix":
            rows = [_numbers(rng, size.p, parameter.element, traits) for _ in range(size.n)]
            text = f"np.array([{', '.join(rows)}], dtype=np.{parameter.element}).reshape({size.n}, {size.p})"
            if size.is_many:
                return f"np.tile({text}, ({MANY}, 1))"
            return f"np.asfortranarray({text})" if "views" in traits and rng.random() < 0.5 else text
        case "sparse":
            return _sparse(rng, parameter.element, size, traits)
        case "pointers":
            numbers = _pointers(rng, size, traits)
        case "columns" | "rows":
            numbers = _rows(rng, size.n, size.m if parameter.kind == "columns" else size.n, parameter.kind == "rows", traits)
        case "counts":
            numbers = str([rng.randint(0, 5) for _ in range(size.n)])
        case "flags":
            numbers = str([rng.random() < 0.5 for _ in range(size.n)])
        case _:
            numbers = _numbers(rng, size.m if parameter.kind == "values" else size.n, parameter.element, traits)
    text = f"np.array({numbers}, dtype=np.{parameter.element.replace('bool', 'bool_')})"
    if size.is_many:
        step = f"{size.m} * np.arange({MANY}, dtype=np.{parameter.element})[:, None]"
        text = f"np.append(0, ({text}[1:] + {step}).ravel())" if parameter.kind == "pointers" else f"np.tile({text}, {MANY})"
    else:
        text = _viewed(rng, text, traits)
    return f"polyml.freeze({text})" if "frozen" in traits and rng.random() < 0.6 else text


def _sparse(rng: random.Random, element: str, size: _Sizes, traits: tuple[str, ...]) -> str:
    """Returns a square sparse matrix, whose rows have a few elements each in any order."""
    rows = [rng.sample(range(size.n), rng.randint(0, min(size.n, 3))) for _ in range(size.n)]
    columns, ends = sum(rows, []), [sum(map(len, rows[:k])) for k in range(size.n + 1)]
    indices = f"np.array({columns}, np.int32), np.array({ends}, np.int32)"
    data = f"np.array({_numbers(rng, len(columns), element, traits)}, dtype=np.{element})"
    text = f"sp.csr_{rng.choice(('array', 'matrix'))}(({data}, {indices}), shape=({size.n}, {size.n}))"
    if size.is_many:
        text = f"sp.csr_array(sp.kron(sp.eye_array({MANY}, dtype=np.{element}), {text}))"
    return f"polyml.freeze({text})" if "frozen" in traits else text


def _viewed(rng: random.Random, text: str, traits: tuple[str, ...]) -> str:
    """Returns the array, in some programs as a part of another one."""
    if "views" not in traits or rng.random() < 0.4:
        return text
    return rng.choice((f"np.repeat({text}, 2)[::2]", f"{text}[::-1]", f"np.repeat({text}, 2).reshape(-1, 2)[:, 1]"))


def _numbers(rng: random.Random, count: int, element: str, traits: tuple[str, ...]) -> str:
    """Returns a list of numbers, as text; in some programs a few are infinite, or not numbers, or negative zeros."""
    if element.startswith("int"):
        return str([rng.randint(-4, 9) for _ in range(count)])
    odd = ("np.nan", "np.inf", "-np.inf", "-0.0") if "not a number" in traits else ()
    texts = [rng.choice(odd) if odd and rng.random() < 0.15 else str(_real(rng)) for _ in range(count)]
    return f"[{', '.join(texts)}]"


def _real(rng: random.Random) -> float:
    return rng.randint(-12, 16) / 4 if rng.random() < 0.5 else round(rng.gauss(0.5, 1.5), 3)


def _rows(rng: random.Random, n: int, count: int, may_permute: bool, traits: tuple[str, ...]) -> str:
    """Returns subscripts of arrays with n elements, as text: random ones or a permutation, some of them counted from the end."""
    if n == 0:
        return str([rng.randint(0, 3) for _ in range(count)])
    rows = rng.sample(range(n), n) if may_permute and rng.random() < 0.4 else [rng.randrange(n) for _ in range(count)]
    if "negative" in traits:
        rows = [row - n if rng.random() < 0.3 else row for row in rows]
    if "out of range" in traits:
        rows = [rng.choice((n, n + 3, -n - 1, 1000)) if rng.random() < 0.12 else row for row in rows]
    return str(rows)


def _pointers(rng: random.Random, size: _Sizes, traits: tuple[str, ...]) -> str:
    inner = [rng.randint(0, size.m) for _ in range(size.n)]
    pointers = [0, *inner] if "unsorted pointers" in traits else [0, *sorted(inner)]
    if "out of range" in traits and rng.random() < 0.3:
        pointers[-1] += 2
    return str(pointers)


def _shared(rng: random.Random, parameters: Sequence[Parameter], texts: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the arguments with one array in the place of another one of its kind, behind it, if there are two."""
    pairs = [
        (one, other)
        for other in range(len(parameters))
        for one in range(other)
        if parameters[one].kind == parameters[other].kind and parameters[one].kind in OF_ROWS
    ]
    if not pairs:
        return texts
    one, other = rng.choice(pairs)
    name = parameters[one].name
    return (*texts[:other], rng.choice((name, name, f"{name}[::-1]")), *texts[other + 1 :])
